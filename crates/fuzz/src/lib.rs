//! An EVM property fuzzer.
//!
//! Deploys compiled smart contracts on an in-memory chain, calls them with generated transactions, and reports tests that
//! fail. It neither compiles nor prints: the [`solidity`] crate provides the build, and callers present the results.
//!
//! Start at [`deploy`], which turns a build into a [`target`], and [`campaign`], which fuzzes that target.

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
