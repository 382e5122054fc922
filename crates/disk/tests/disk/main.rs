//! Tests of the simulated disk itself: what it loses, what it keeps, and how it fails; and of who writes past it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod simulated;
#[cfg(target_os = "linux")]
mod system;
mod write_sites;
