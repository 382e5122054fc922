//! `prioritize_function`: makes the fuzzer call some functions most of the time.

use contract::{
    CallContext, SchemaViolation, SideEffects, ToolError, ToolOutput, parse_arguments, to_output,
};
use fuzz::campaign::CampaignCommand;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{CampaignToolSpec, build_example, invalid_argument, signature, steering_constraints};
use crate::schema::ToolSchemas;
use crate::view::CampaignView;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PrioritizeFunctionInput {
    function_signature: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PrioritizeFunctionOutput {
    success: bool,
    message: String,
    prioritized_functions: Vec<String>,
}

pub(super) fn build_spec() -> CampaignToolSpec {
    let mut constraints = steering_constraints(SideEffects::Append);
    constraints.rules = vec![
        "While the set is not empty, 90% of the newly generated calls go to its functions and 10% to any function. Replayed \
         and mutated calls are not counted; campaign_status shows both numbers for each function.".into(),
        "If several smart contracts have the function, it is prioritized in all of them.".into(),
        "Write a tuple in a signature as {…}, because a signature may contain only one `)`.".into(),
        "The command is written to mcp-commands.jsonl in the corpus folder before it takes effect.".into(),
    ];
    CampaignToolSpec {
        title: "Prioritize a function",
        description: "Adds a function to the set that receives 90% of the newly generated calls until clear_priorities; calls that \
                      lead up to a state are replayed in addition. Pass \
                      the canonical signature, such as transfer(address,uint256); campaign_target lists all \
                      signatures. Use it for functions that show_source_coverage shows as rarely reached.",
        constraints,
        steers: true,
        examples: vec![build_example(
            "one function",
            json!({"functionSignature": "deposit(uint256)"}),
            json!({
                "success": true,
                "message": "Prioritized function 'deposit(uint256)'; 90% of the newly generated calls go to the \
                            prioritized functions, replayed and mutated calls are not counted",
                "prioritizedFunctions": ["deposit(uint256)"],
            }),
        )],
        check: |campaign, arguments| {
            let PrioritizeFunctionInput { function_signature } =
                parse_arguments(arguments.clone())?;
            signature::find_callable(&function_signature, campaign.target()).map(drop)
        },
        reword: reword_signature_pattern,
        ..CampaignToolSpec::new(
            "prioritize_function",
            ToolSchemas::from_contract_json(include_str!("../schemas/prioritize_function.json")),
            prioritize_function,
        )
    }
}

fn reword_signature_pattern(violation: &SchemaViolation) -> Option<ToolError> {
    (violation.keyword == "pattern").then(|| {
        let message = format!(
            "{}: pass the canonical signature without spaces, such as transfer(address,uint256), and write tuples in \
             it as {{…}}",
            violation.message
        );
        invalid_argument("functionSignature", message)
    })
}

fn prioritize_function(
    campaign: &CampaignView,
    arguments: Value,
    ctx: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let PrioritizeFunctionInput { function_signature } = parse_arguments(arguments)?;
    let functions = signature::find_callable(&function_signature, campaign.target())?;
    ctx.check_cancelled()?;
    let name = campaign.target().function(functions[0]).signature.clone();
    let known = campaign.shared.priorities();
    // Functions already in the set need no command.
    for function in functions.into_iter().filter(|function| !known.contains(function)) {
        campaign.give_command(CampaignCommand::Prioritize(function))?;
    }
    to_output(&PrioritizeFunctionOutput {
        success: true,
        message: format!(
            "Prioritized function '{name}'; 90% of the newly generated calls go to the prioritized functions, replayed \
             and mutated calls are not counted"
        ),
        prioritized_functions: list_prioritized(campaign),
    })
}

/// Returns the signatures of the prioritized functions, without duplicates.
pub(super) fn list_prioritized(campaign: &CampaignView) -> Vec<String> {
    let mut names = Vec::new();
    for function in campaign.shared.priorities() {
        let name = &campaign.target().function(function).signature;
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}
