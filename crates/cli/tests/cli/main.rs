//! End-to-end tests of the `vouch` binary. Each test runs it in a temporary project; see [`support::Project`].

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod approvals;
mod ask;
mod calls;
mod campaign;
mod check;
mod descriptors;
mod discover;
mod docs;
mod errors;
mod fuzz;
mod fuzz_bad_input;
mod gateway;
mod gateway_commands;
mod gateway_config;
mod help;
mod hostile_clone;
mod hostile_links;
mod identity;
mod index;
mod kill;
mod model;
mod operating;
mod probes;
mod pty;
mod record;
mod redaction;
mod reload;
mod service_unit;
mod serving;
mod setup;
mod shutdown;
mod stdio;
mod support;
mod telemetry;
mod terminal;
mod tls;
mod trace;
mod trust;
mod upstream;
mod upstream_import;
