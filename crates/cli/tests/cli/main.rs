//! The binary as people and clients meet it: each test runs `vouch` in a folder of its own.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod approvals;
mod calls;
mod campaign;
mod discover;
mod docs;
mod errors;
mod fuzz;
mod fuzz_bad_input;
mod help;
mod index;
mod kill;
mod record;
mod serving;
mod setup;
mod stdio;
mod support;
mod telemetry;
mod terminal;
