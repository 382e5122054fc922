//! The pack through its tools, on campaigns that really run.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bad_input;
mod beyond;
mod contracts;
mod crowd;
mod documents;
mod error_codes;
mod files;
mod guarantees;
mod life;
mod log;
mod rules;
mod several;
mod steering;
mod support;
