//! Test support shared by several crates: starts the adversary server and provides MCP clients without validation.
//!
//! The programs that tests and benchmarks run against are the binaries of this package. The library depends on none of
//! the product's crates, so each of them can use it in its tests. Start with [`adversary`].

pub mod adversary;
pub mod programs;
pub mod raw;
