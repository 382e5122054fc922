//! Connections to scripted servers: as child processes, over streamable HTTP and over legacy SSE, in both eras.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod children;
mod egress;
mod exits;
mod http;
mod jail;
mod namespace_limits;
mod namespaces;
mod sandbox;
mod sse;
mod stdio;
mod support;
mod web_server;
