//! Tests of the store through its public API, one module per kind of data.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod adversary;
mod approvals;
mod audit;
mod checkpoints;
mod clock_steps;
mod context;
mod crash;
mod durability;
mod errors;
mod evidence;
mod export;
mod forger;
mod heads;
mod key_file;
mod keys;
mod power_failure;
mod project_token;
mod reading;
mod repair;
mod retention;
mod rotation;
mod sealing;
mod state_dir;
mod support;
mod tampering;
mod torn_database;
mod withheld_answers;
mod writer;
