//! The one way a call goes.
//!
//! ```text
//!  stdio MCP ─┐   ┌──────────────────────── Pipeline ────────────────────────┐   ┌─ LocalTool ── contract::Tool
//!  HTTP  MCP ─┼──►│ resolve → validate → rate → rules → approve → time limit │──►┤
//!  REST      ─┤   │   → run → validate output → size → rules → audit+metrics │   └─ any other Invoker
//!  `vouch call`┘  └───────────────────────────────────────────────────────────┘
//! ```
//!
//! This crate owns the [`Catalog`], the [`Pipeline`] and the front doors. It knows no particular tool. Start reading at
//! [`Pipeline::call`]; everything else is either a stage of it or a door into it.

mod approval;
mod audit;
mod call;
mod catalog;
pub mod client;
mod documents;
pub mod doors;
mod inquiry;
mod limits;
mod local;
mod metrics;
mod pipeline;
mod policy;
mod seal;
mod trace;

pub use call::{
    Abilities, Answers, Ask, Call, Person, Question, QuestionKind, Refusal, Reply, Rounds, Stop,
    Subject,
};
pub use catalog::{Catalog, CatalogError, Entry, Invoker, Origin};
pub use documents::{Documents, READ as READ_RESOURCE};
pub use inquiry::{Inquiry, MAX_CARRIED_BYTES};
pub use local::LocalTool;
pub use metrics::Metrics;
pub use pipeline::{Approve, Pipeline, PipelineOptions};
pub use policy::ToolFilter;
