//! `context_search` and the index behind it, through the tools as the pipeline calls them.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "../common/as_a_user.rs"]
mod as_a_user;
mod bad_days;
#[path = "../common/call.rs"]
mod calling;
mod changes;
mod contract;
mod found;
mod noted;
mod processes;
mod progress;
mod support;
mod vectors;
