//! The front doors. Each turns its protocol's request into a [`crate::Call`] and the reply back; none decides anything.

pub mod http;
pub mod mcp;
pub mod openapi;
pub mod rest;
mod session;
pub mod stdio;
mod verbatim;

use std::time::Duration;

/// How long calls in flight may take to finish once a door is told to close. Our own contracts allow a second; where an
/// operator allows more than this, such a call is cut off.
const DRAIN_LIMIT: Duration = Duration::from_secs(30);
/// A message that is longer is not read. An argument list has its own, smaller bound; this one protects memory before
/// anything is parsed.
const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
