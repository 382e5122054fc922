//! Call traces for people and agents: every frame with names, arguments and return values, and the events.
//!
//! [`Tracer`] runs calls on its own chain (`tracer`). `decode` decodes their frames with the names of the build from
//! `names`, and `lines` formats them as a tree. `reasons` describes why the calls of a campaign reverted. This module neither prints nor escapes text for a terminal: names and
//! strings are unchanged.

mod decode;
mod lines;
mod names;
mod reasons;
mod tracer;

pub use decode::{CallTrace, FrameEnd, TracedEvent, TracedFrame};
pub use lines::{LineTone, TraceLine};
pub use reasons::describe_revert_reasons;
pub use tracer::{CALL_TIME, CallExecution, TracedCall, Tracer};

use crate::call::SequenceCall;
use crate::config::CampaignSettings;
use crate::target::FuzzTarget;

/// Runs the calls in order from the initial state and returns their traces.
pub fn trace_sequence(
    target: &FuzzTarget,
    settings: &CampaignSettings,
    calls: &[SequenceCall],
) -> Vec<TracedCall> {
    let mut tracer = Tracer::new(target, settings, CALL_TIME);
    calls.iter().map(|call| tracer.trace_call(call)).collect()
}
