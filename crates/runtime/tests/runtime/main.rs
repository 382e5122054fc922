//! The pipeline and its doors, tested from outside with scripted tools.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod approvals;
mod http;
mod pipeline;
mod resources;
mod rig;
mod sessions;
mod stdio;
mod watching;
