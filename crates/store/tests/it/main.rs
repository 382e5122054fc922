//! Tests of the store through its public interface: one module for each thing it keeps.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod answers;
mod approvals;
mod audit;
mod context;
mod crash;
mod folder;
mod keys;
mod support;
mod tamper;
