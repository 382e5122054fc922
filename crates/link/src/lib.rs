//! One long-lived connection to one MCP server.
//!
//! A [`Link`] reaches a server over stdio (a child process with a sandbox), streamable HTTP or the legacy SSE transport,
//! and speaks both eras of the protocol: the handshake revisions up to 2025-11-25 and the stateless 2026-07-28. It connects
//! when it is first needed, heals when the server restarts or forgets the session, and shares the connection among all
//! calls. Everything a server sends is bounded and looked at as bytes before it is parsed.
//!
//! The client of the `rmcp` SDK is not used: it hands out typed messages, while a gateway needs the bytes as they came.
//!
//! It knows no contracts, no catalog and no policy: definitions and answers come out as they came in. Start reading at
//! [`Link`], then `session`, then one of the wires (`duplex` for stdio and SSE, `http`).

mod answer;
mod call;
mod context;
mod duplex;
mod envelope;
mod error;
mod events;
mod flight;
mod grants;
mod headers;
mod http;
pub mod keeper;
mod lines;
mod link;
mod negotiate;
mod options;
mod pages;
mod question;
mod scan;
mod session;
mod sse;
mod status;
mod stdio;

pub use call::{Abilities, Answer, Asker, Call, Failed, ProgressSink, Resume, Turn};
pub use error::LinkError;
pub use grants::{GrantError, ProtectedPaths, real_path};
pub use headers::header_defect;
pub use link::Link;
pub use options::{Bounds, Endpoint, Options, Program, Reach, Sandbox};
pub use pages::DEFECT;
pub use status::{Era, Oddities, Server, Status};
