//! What tests of several crates share: how the adversary is started, and a client that checks nothing.
//!
//! The programs that tests and benchmarks run against are this package's binaries. This library knows none of the
//! product's crates, so that each of them can use it in its tests.

pub mod adversary;
pub mod programs;
pub mod raw;
