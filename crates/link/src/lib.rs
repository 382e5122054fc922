//! One long-lived connection to one MCP server.
//!
//! A [`Connection`] talks to a server over stdio (a sandboxed child process), streamable HTTP or the legacy SSE transport.
//! It speaks both eras of the protocol: the handshake revisions up to 2025-11-25 and the stateless 2026-07-28. It connects
//! on first use, reconnects when the server restarts or loses the session, and shares the connection among all calls.
//! Everything a server sends is bounded, and scanned as bytes before it is parsed.
//!
//! The client of the `rmcp` SDK is not used: it returns typed messages, while a gateway needs the bytes as they arrived.
//!
//! This crate has no contracts, catalog or policy: it returns definitions and results as the server sent them. Start
//! reading at [`Connection`], then `session`, then one of the transports (`duplex` for stdio and SSE, or `http`).

mod call;
mod connection;
mod context;
mod duplex;
mod envelope;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod grants;
mod headers;
mod http;
mod in_flight;
mod json_scan;
mod line_splitter;
mod namespace_policy;
mod negotiation;
mod options;
mod server_request;
mod session;
mod sse;
mod sse_parser;
mod status;
mod stdio;
pub mod supervisor;
mod tool_pages;
mod tool_result;

pub use call::{
    CallContinuation, CallFailure, CallOutcome, CallerCapabilities, ElicitationResponder,
    ProgressSink, UpstreamCall, UpstreamResponse,
};
pub use connection::Connection;
pub use error::ConnectionError;
pub use grants::{GrantError, ProtectedPaths, resolve_real_path};
pub use headers::find_header_defect;
pub use namespace_policy::{
    AllowedHost, MaskedNames, NamespacePolicy, NetworkAccess, ResourceLimits,
};
pub use options::{
    HttpEndpoint, MessageBounds, Options, SandboxPolicy, StdioProgram, UpstreamEndpoint,
};
pub use status::{ConnectionStatus, ProtocolDeviations, ProtocolEra, ServerInfo};
pub use tool_pages::DEFECT_KEY;
