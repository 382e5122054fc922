//! `clear_priorities`: has the fuzzer call all functions alike again.

use contract::{CallContext, Output, SideEffects, ToolError, to_output};
use fuzz::campaign::Command;
use serde::Serialize;
use serde_json::{Value, json};

use super::prioritize::prioritized;
use super::{Spec, example, steering};
use crate::running::Running;
use crate::schema::Schemas;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cleared {
    success: bool,
    message: String,
    cleared_count: usize,
}

pub(super) fn spec() -> Spec {
    let mut constraints = steering(SideEffects::Write);
    constraints.rules = vec![
        "The command is in mcp-commands.jsonl of the corpus folder before it takes effect.".into(),
    ];
    Spec {
        title: "Clear priorities",
        description: "Empties the set of prioritised functions, so that the fuzzer calls all functions alike again. \
                      With an empty set it does nothing.",
        constraints,
        steers: true,
        examples: vec![example(
            "back to normal",
            json!({}),
            json!({"success": true, "message": "Cleared 2 prioritized functions", "clearedCount": 2}),
        )],
        ..Spec::new(
            "clear_priorities",
            Schemas::agreed(include_str!("../schemas/clear_priorities.json")),
            run,
        )
    }
}

fn run(running: &Running, _: Value, ctx: &CallContext) -> Result<Output, ToolError> {
    ctx.check_cancelled()?;
    let cleared_count = prioritized(running).len();
    if cleared_count > 0 {
        running.give(Command::ClearPriorities)?;
    }
    let message = match cleared_count {
        1 => "Cleared 1 prioritized function".to_owned(),
        count => format!("Cleared {count} prioritized functions"),
    };
    to_output(&Cleared { success: true, message, cleared_count })
}
