//! `pause_campaign` and `resume_campaign`.

use contract::{Output, SideEffects, ToolError, to_output};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::status::{self, State};
use super::{Spec, example, steering};
use crate::running::Running;
use crate::schema::Schemas;

#[derive(Deserialize, JsonSchema)]
struct Input {}

#[derive(Serialize, JsonSchema)]
struct Answer {
    /// True: the workers have been told
    success: bool,
    /// What the campaign does now
    state: State,
    /// The same in words
    message: String,
}

pub(super) fn pause_spec() -> Spec {
    Spec {
        title: "Pause the campaign",
        description: "Has all workers wait after the sequence that they are in, so that the machine is free and nothing \
                      changes while you think. Reading and steering go on; what is injected meanwhile runs after \
                      resume_campaign. A time limit of the campaign goes on, too.",
        constraints: steering(SideEffects::Write),
        steers: true,
        examples: vec![example(
            "wait",
            json!({}),
            json!({"success": true, "state": "paused", "message": "The campaign is paused"}),
        )],
        ..Spec::new("pause_campaign", Schemas::of::<Input, Answer>(), |running, _, ctx| {
            ctx.check_cancelled()?;
            running.shared.pause();
            answer(running, "The campaign is paused")
        })
    }
}

pub(super) fn resume_spec() -> Spec {
    Spec {
        title: "Resume the campaign",
        description: "Has the workers of a paused campaign go on. For one that runs it does nothing.",
        constraints: steering(SideEffects::Write),
        steers: true,
        examples: vec![example(
            "go on",
            json!({}),
            json!({"success": true, "state": "running", "message": "The campaign runs"}),
        )],
        ..Spec::new("resume_campaign", Schemas::of::<Input, Answer>(), |running, _, ctx| {
            ctx.check_cancelled()?;
            running.shared.resume();
            answer(running, "The campaign runs")
        })
    }
}

fn answer(running: &Running, message: &str) -> Result<Output, ToolError> {
    to_output(&Answer { success: true, state: status::state(running), message: message.to_owned() })
}
