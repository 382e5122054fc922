//! Sequences for people: as lines of Solidity calls, and as a Foundry test that fails.
//!
//! Nothing here runs or changes a sequence. The form in which sequences are kept is that of [`crate::corpus`].

pub mod foundry;
pub mod solidity;
