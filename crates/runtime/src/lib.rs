//! Runs every tool call through one enforcing pipeline and serves it over stdio and HTTP.
//!
//! ```text
//!  stdio MCP ─┐   ┌──────────────────────── Pipeline ────────────────────────┐   ┌─ LocalTool ── contract::Tool
//!  HTTP  MCP ─┼──►│ resolve → validate → rate → rules → approve → time limit │──►┤
//!  REST      ─┤   │ → run → check output → size → rules → secrets → audit    │   └─ any other Invoker
//!  `vouch call`┘  └───────────────────────────────────────────────────────────┘
//! ```
//!
//! This crate owns the [`Catalog`], the [`Pipeline`] and the transports ([`transports`]). It does not define any tool.
//! Start reading at [`Pipeline::call`]; everything else is either a stage of the pipeline or a transport in front of it.

mod approval;
mod audit;
mod blocking;
mod call;
mod catalog;
pub mod client;
mod elicitation;
#[doc(hidden)]
pub mod fuzzing;
mod limits;
mod local;
mod metrics;
mod pipeline;
mod policy;
mod resource_catalog;
mod seal;
mod trace;
pub mod transports;

pub use approval::ApprovalMode;
pub use blocking::{BlockingFailure, spawn_blocking};
pub use call::{
    CallInterruption, CallOrigin, CallSubject, ClientCapabilities, ElicitationAnswers,
    ElicitationChannel, ElicitationHandler, ElicitationKind, ElicitationRequest, ProtocolRefusal,
    RoundInput, ToolCall, ToolReply,
};
pub use catalog::{AnswerOrigin, Catalog, CatalogEntry, CatalogError, Invoker};
pub use elicitation::{ElicitationBroker, MAX_CARRIED_BYTES};
pub use limits::RateClock;
pub use local::LocalTool;
pub use metrics::{Metrics, SealMetrics, ServerMetrics};
pub use pipeline::{Pipeline, PipelineOptions, SecretOutputMode};
pub use policy::{ApprovalRoute, ClientPolicy, ResourceFilter, ToolFilter};
pub use resource_catalog::{READ_RESOURCE, ResourceCatalog};
