//! The host from outside: real pipeline, real store, scripted tools, planners and endpoints.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod ask;
mod embedded;
mod models;
mod once;
mod reasons;
mod summary;
mod trace;
mod typed;
mod world;
mod worst_case;
