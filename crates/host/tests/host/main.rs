//! Integration tests with a real pipeline and store, and scripted tools, planners and endpoints.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod ask;
mod embedded;
mod fixtures;
mod models;
mod outcomes;
mod single_call;
mod summary;
mod trace;
mod typed;
mod worst_case;
