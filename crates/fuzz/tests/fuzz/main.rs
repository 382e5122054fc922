//! Integration tests of the fuzzer's public API.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod any;
mod campaign;
mod choose;
mod config;
mod corpus;
mod corpus_durability;
mod deploy;
mod docs;
mod foundry;
mod medusa_config;
mod reproducer;
mod scene;
mod script;
mod steer;
mod suite;
mod targets;
mod verdicts;
