//! Tests the gateway between a pipeline and servers that violate their contracts.
//!
//! Everything is real except the transport to the client: child processes with their supervisor, HTTP servers, the
//! store and the audit log. The adversary servers count the calls they receive, so tests observe directly that a call
//! did not run.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod admission;
mod answers;
mod child_processes;
mod classes;
mod client;
mod endurance;
mod failures;
mod harness;
mod limits;
mod pins;
mod relay;
mod rules;
