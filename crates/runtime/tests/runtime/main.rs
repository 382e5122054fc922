//! The pipeline and its doors, tested from outside with scripted tools.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod approvals;
mod http;
mod live;
mod pipeline;
mod relay;
mod resources;
mod rig;
mod rules;
mod sessions;
mod stdio;
mod upstream;
mod watching;
