//! The single-step host: one query, at most one tool call, only answers that satisfy their contract.
//!
//! ```text
//!  query ─► 0 input ─► discover ─► plan ─► 1 one object ─► 2 exists, arguments fit ─► 3 allowed ─┐
//!                                                                                                ▼
//!  answer ◄─ 5 grounded summary ◄─ 4 answer meets its contract ◄──────────── Pipeline ◄── 6 the one call
//! ```
//!
//! This crate owns the gates, the planners, typed parsing, grounded summaries and the trace of an ask. A planner is not
//! trusted: its output is text that the gates check, and a tool's answer reaches a model only as [`ValidatedOutput`].
//!
//! The crate depends on no particular tool, MCP SDK, environment or terminal. The call goes through
//! [`runtime::Pipeline`], so approval, rates, limits and audit apply as for every other transport. Start reading at
//! [`answer_query`].

mod ask;
pub mod gate;
mod json;
mod model;
mod offer;
mod planner;
mod reason;
mod schema_view;
mod standing;
pub mod summary;
pub mod trace;
pub mod typed;

pub use ask::{AskAnswer, AskContext, AskOutcome, TracedOutcome, answer_query};
pub use gate::AskGate;
pub use gate::answer::RawAnswer;
pub use gate::input::{InputPolicy, InputPolicyError};
pub use gate::single_call::SingleCall;
pub use gate::vetted_call::VettedCall;
pub use json::JsonError;
pub use model::{AnthropicModel, ModelEndpoint, ModelError, OpenAiModel};
pub use offer::{
    EffectiveAllowlist, ListedTool, LiveToolSource, ToolDiscoveryError, ToolOffer, ToolStanding,
};
pub use planner::{EmbeddedPlanner, Planner, PlannerError};
pub use reason::{PlanningFailure, StopReason};
pub use standing::{StandingPolicy, UpstreamCandidate};
pub use summary::{ExtractiveSummarizer, SummarizeError, Summarizer};
pub use typed::{
    OutputParsers, ParsedOutput, SchemaValue, TypedError, ValidatedOutput, parse_typed,
};
