//! `pause_campaign` and `resume_campaign`.

use contract::{SideEffects, ToolError, ToolOutput, to_output};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::status::{self, CampaignRunState};
use super::{CampaignToolSpec, build_example, steering_constraints};
use crate::schema::ToolSchemas;
use crate::view::CampaignView;

#[derive(Deserialize, JsonSchema)]
struct PauseResumeInput {}

#[derive(Serialize, JsonSchema)]
struct PauseResumeOutput {
    /// Always true: the request was passed to the workers
    success: bool,
    /// State of the campaign after the call
    state: CampaignRunState,
    /// Human-readable result
    message: String,
}

pub(super) fn build_pause_spec() -> CampaignToolSpec {
    CampaignToolSpec {
        title: "Pause the campaign",
        description: "Pauses all workers after their current sequence, so that the machine is free and nothing changes \
                      while you think. The campaign can still be read and steered; sequences injected meanwhile run \
                      after resume_campaign. The campaign's time limit keeps running.",
        constraints: steering_constraints(SideEffects::Write),
        steers: true,
        examples: vec![build_example(
            "pause",
            json!({}),
            json!({"success": true, "state": "paused", "message": "The campaign is paused"}),
        )],
        ..CampaignToolSpec::new(
            "pause_campaign",
            ToolSchemas::from_types::<PauseResumeInput, PauseResumeOutput>(),
            |campaign, _, ctx| {
                ctx.check_cancelled()?;
                campaign.shared.pause();
                build_output(campaign, "The campaign is paused")
            },
        )
    }
}

pub(super) fn build_resume_spec() -> CampaignToolSpec {
    CampaignToolSpec {
        title: "Resume the campaign",
        description: "Resumes the workers of a paused campaign. Does nothing if the campaign is running.",
        constraints: steering_constraints(SideEffects::Write),
        steers: true,
        examples: vec![build_example(
            "resume",
            json!({}),
            json!({"success": true, "state": "running", "message": "The campaign is running"}),
        )],
        ..CampaignToolSpec::new(
            "resume_campaign",
            ToolSchemas::from_types::<PauseResumeInput, PauseResumeOutput>(),
            |campaign, _, ctx| {
                ctx.check_cancelled()?;
                campaign.shared.resume();
                build_output(campaign, "The campaign is running")
            },
        )
    }
}

fn build_output(campaign: &CampaignView, message: &str) -> Result<ToolOutput, ToolError> {
    to_output(&PauseResumeOutput {
        success: true,
        state: status::run_state(campaign),
        message: message.to_owned(),
    })
}
