//! `clear_priorities`: makes the fuzzer call all functions equally often again.

use contract::{CallContext, SideEffects, ToolError, ToolOutput, to_output};
use fuzz::campaign::CampaignCommand;
use serde::Serialize;
use serde_json::{Value, json};

use super::prioritize::list_prioritized;
use super::{CampaignToolSpec, build_example, steering_constraints};
use crate::schema::ToolSchemas;
use crate::view::CampaignView;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClearPrioritiesOutput {
    success: bool,
    message: String,
    cleared_count: usize,
}

pub(super) fn build_spec() -> CampaignToolSpec {
    let mut constraints = steering_constraints(SideEffects::Write);
    constraints.rules = vec![
        "The command is written to mcp-commands.jsonl in the corpus folder before it takes effect."
            .into(),
    ];
    CampaignToolSpec {
        title: "Clear priorities",
        description: "Empties the set of prioritized functions, so that the fuzzer calls all functions equally often \
                      again. Does nothing if the set is empty.",
        constraints,
        steers: true,
        examples: vec![build_example(
            "clear all priorities",
            json!({}),
            json!({"success": true, "message": "Cleared 2 prioritized functions", "clearedCount": 2}),
        )],
        ..CampaignToolSpec::new(
            "clear_priorities",
            ToolSchemas::from_contract_json(include_str!("../schemas/clear_priorities.json")),
            clear_priorities,
        )
    }
}

fn clear_priorities(
    campaign: &CampaignView,
    _: Value,
    ctx: &CallContext,
) -> Result<ToolOutput, ToolError> {
    ctx.check_cancelled()?;
    let cleared_count = list_prioritized(campaign).len();
    if cleared_count > 0 {
        campaign.give_command(CampaignCommand::ClearPriorities)?;
    }
    let message = match cleared_count {
        1 => "Cleared 1 prioritized function".to_owned(),
        count => format!("Cleared {count} prioritized functions"),
    };
    to_output(&ClearPrioritiesOutput { success: true, message, cleared_count })
}
