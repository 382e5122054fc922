//! Trial calls: which tools may be called without asking a person, so that their answers teach a contract.

use contract::SideEffects;
use serde_json::{Map, Value};

use crate::{Admission, ToolAdmission, ToolStatus};

/// Maximum examples that are called for one tool.
const MAX_EXAMPLES: usize = 8;
/// Rules that no overlay can satisfy: there is no contract to learn.
const UNLEARNABLE_RULES: [&str; 4] = ["A001", "A002", "C002", "C003"];
/// Rules about text that hides characters or instructs the model.
const SUSPECT_TEXT_RULES: [&str; 3] = ["C022", "C023", "C024"];

/// A call of one tool, by the server's own name for it.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialCall {
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// The tools that trial calls are wanted of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialScope<'a> {
    /// Every tool that lacks a contract.
    LackingContract,
    /// The tools of these names.
    Named(&'a [String]),
    /// No tool: a person has chosen the calls.
    None,
}

/// Returns true if the tool was refused for something that an overlay can supply.
pub fn lacks_contract(tool: &ToolAdmission) -> bool {
    let is_hopeless = tool.reasons.iter().any(|reason| UNLEARNABLE_RULES.contains(&reason.rule));
    tool.state == ToolStatus::Refused && !is_hopeless
}

/// Returns true if the tool may be called without asking a person.
///
/// It must declare that it has no side effects and be admitted, if only under [`crate::AdmissionMode::Observe`]. A
/// tool that changed since it was pinned, or whose text is suspect, is called by a person or not at all.
pub fn may_call_unasked(tool: &ToolAdmission) -> bool {
    let constraints = tool.definition.constraints.as_ref();
    let only_reads = constraints.is_some_and(|limits| limits.side_effects == SideEffects::None);
    let is_suspect = tool.reasons.iter().any(|reason| SUSPECT_TEXT_RULES.contains(&reason.rule));
    only_reads && tool.can_run() && tool.state != ToolStatus::Quarantined && !is_suspect
}

/// Returns the calls that may be made without asking a person, in the order of the list.
pub fn plan_trial_calls(admission: &Admission, scope: TrialScope<'_>) -> Vec<TrialCall> {
    let is_in_scope = |tool: &&ToolAdmission| match scope {
        TrialScope::LackingContract => lacks_contract(tool),
        TrialScope::Named(names) => names.contains(&tool.name),
        TrialScope::None => false,
    };
    let tools = admission.tools.iter().filter(|tool| may_call_unasked(tool)).filter(is_in_scope);
    tools
        .flat_map(|tool| {
            let call = |arguments| TrialCall { tool: tool.name.clone(), arguments };
            example_inputs(tool).into_iter().map(call)
        })
        .collect()
}

/// Returns the examples of the author and the operator; without any, empty arguments if nothing is required.
fn example_inputs(tool: &ToolAdmission) -> Vec<Map<String, Value>> {
    let schema = tool.definition.input_schema.as_ref();
    let of_schema = schema.and_then(|schema| schema.get("examples")).and_then(Value::as_array);
    let given = tool.definition.examples.iter().map(|example| &example.input);
    let given = given.chain(of_schema.into_iter().flatten()).filter_map(Value::as_object);
    let mut inputs: Vec<Map<String, Value>> = Vec::new();
    for input in given.take(MAX_EXAMPLES) {
        if !inputs.contains(input) {
            inputs.push(input.clone());
        }
    }
    let required = schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
    if inputs.is_empty() && required.is_none_or(Vec::is_empty) {
        inputs.push(Map::new());
    }
    inputs
}
