//! `prioritize_function`: has the fuzzer call some functions most of the time.

use contract::{CallContext, Output, SideEffects, ToolError, Violation, parse, to_output};
use fuzz::campaign::Command;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Spec, example, invalid, signature, steering};
use crate::running::Running;
use crate::schema::Schemas;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    function_signature: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Prioritized {
    success: bool,
    message: String,
    prioritized_functions: Vec<String>,
}

pub(super) fn spec() -> Spec {
    let mut constraints = steering(SideEffects::Append);
    constraints.rules = vec![
        "While the set is not empty, 90 % of the calls that workers make are of its functions and 10 % of any.".into(),
        "Where several contracts have the function, it is that of all of them.".into(),
        "A tuple in a signature is written {…}, since a signature holds one `)` only.".into(),
        "The command is in mcp-commands.jsonl of the corpus folder before it takes effect.".into(),
    ];
    Spec {
        title: "Prioritise a function",
        description: "Adds a function to the set that the fuzzer calls most of the time (90 %), until clear_priorities. \
                      Give the canonical signature, such as transfer(address,uint256); campaign_target lists them. \
                      Use it for functions that show_source_coverage shows as hardly reached.",
        constraints,
        steers: true,
        examples: vec![example(
            "one function",
            json!({"functionSignature": "deposit(uint256)"}),
            json!({
                "success": true,
                "message": "Prioritized function 'deposit(uint256)'",
                "prioritizedFunctions": ["deposit(uint256)"],
            }),
        )],
        check: |running, arguments| {
            let Input { function_signature } = parse(arguments.clone())?;
            signature::callable(&function_signature, running.target()).map(drop)
        },
        reword,
        ..Spec::new(
            "prioritize_function",
            Schemas::agreed(include_str!("../schemas/prioritize_function.json")),
            run,
        )
    }
}

fn reword(violation: &Violation) -> Option<ToolError> {
    (violation.keyword == "pattern").then(|| {
        let message = format!(
            "{}: give the canonical signature without spaces, such as transfer(address,uint256), and write tuples in it \
             as {{…}}",
            violation.message
        );
        invalid("functionSignature", message)
    })
}

fn run(running: &Running, arguments: Value, ctx: &CallContext) -> Result<Output, ToolError> {
    let Input { function_signature } = parse(arguments)?;
    let functions = signature::callable(&function_signature, running.target())?;
    ctx.check_cancelled()?;
    let name = running.target().function(functions[0]).signature.clone();
    let known = running.shared.priorities();
    // What is in the set already needs no command.
    for function in functions.into_iter().filter(|function| !known.contains(function)) {
        running.give(Command::Prioritize(function))?;
    }
    to_output(&Prioritized {
        success: true,
        message: format!("Prioritized function '{name}'"),
        prioritized_functions: prioritized(running),
    })
}

/// The set by signatures, each once.
pub(super) fn prioritized(running: &Running) -> Vec<String> {
    let mut names = Vec::new();
    for function in running.shared.priorities() {
        let name = &running.target().function(function).signature;
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}
