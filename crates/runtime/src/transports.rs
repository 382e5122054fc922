//! The transports: MCP over stdio and HTTP, and REST.
//!
//! Each converts its protocol's request into a [`crate::ToolCall`] and the reply back. All decisions are made by the
//! pipeline.

pub mod http;
pub mod mcp;
pub mod openapi;
pub mod rest;
mod session;
pub mod stdio;
mod verbatim;

use std::time::Duration;

/// Maximum time for calls in flight to finish during a shutdown. The built-in contracts allow one second. If an
/// operator allows more than this limit, such a call is cut off. A server ends within 10 s of the signal, also if it
/// closes connections, flushes the audit log and stops upstreams afterwards.
const DRAIN_LIMIT: Duration = Duration::from_secs(6);
/// Maximum size of a message. It bounds memory before parsing; arguments have their own, smaller limit.
const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
