//! An EVM property fuzzer.
//!
//! It compiles nothing and prints nothing: [`solidity`] gives it contracts, others show what it finds.

pub mod abi;
pub mod call;
pub mod campaign;
pub mod chain;
pub mod config;
pub mod corpus;
pub mod deploy;
pub mod generate;
pub mod reproducer;
pub mod script;
pub mod target;
pub mod trace;
