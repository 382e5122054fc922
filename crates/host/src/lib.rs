//! The single-step host: one query, at most one tool call, only kept contracts.
//!
//! ```text
//!  query ─► 0 input ─► discover ─► plan ─► 1 one object ─► 2 exists, arguments fit ─► 3 allowed ─┐
//!                                                                                                ▼
//!  answer ◄─ 5 grounded summary ◄─ 4 answer keeps its contract ◄──────────── Pipeline ◄── 6 the one call
//! ```
//!
//! This crate owns the gates of [`ask`], the planners, typed parsing, grounded summaries and the trace of an ask. A planner
//! is not trusted: whatever it returns is text that the gates judge, and a tool's answer reaches a model only as
//! [`Validated`]. It knows no particular tool, no MCP SDK, no environment and no terminal; the call itself goes through
//! [`runtime::Pipeline`], so approval, rates, limits and audit hold as for every other door. Start reading at [`ask()`].

mod ask;
mod described;
pub mod gate;
mod json;
mod model;
mod offer;
mod planner;
mod reason;
mod standing;
pub mod summary;
pub mod trace;
pub mod typed;

pub use ask::{Answered, Asked, Desk, Outcome, ask};
pub use gate::Gate;
pub use gate::answer::Raw;
pub use gate::input::{InputPolicy, PolicyError};
pub use gate::once::SingleCall;
pub use gate::vetted::Vetted;
pub use json::JsonError;
pub use model::{Anthropic, Endpoint, ModelError, OpenAi};
pub use offer::{Allowlist, Discover, DiscoverError, Listed, Offer, Standing};
pub use planner::{Embedded, PlanError, Planner};
pub use reason::{Breakdown, StopReason};
pub use standing::{StandingPolicy, UpstreamCandidate};
pub use summary::{Extractive, SummarizeError, Summarizer};
pub use typed::{Parsed, Parsers, Shape, TypedError, Validated, typed};
