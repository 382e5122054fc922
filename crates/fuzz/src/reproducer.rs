//! Call sequences for people: as lines of Solidity calls, and as a failing Foundry test.
//!
//! This module neither runs nor changes a sequence. [`crate::corpus`] defines the stored format.

pub mod foundry;
pub mod solidity;
