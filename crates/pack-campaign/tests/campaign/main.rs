//! Tests the pack through its tools, on campaigns that actually run.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bad_input;
mod command_log;
mod concurrent_clients;
mod contracts;
mod error_codes;
mod extra_tools;
mod lcov_files;
mod lifecycle;
mod multiple_campaigns;
mod output_guarantees;
mod resources;
mod steering;
mod support;
mod validation_rules;
