//! The result of an ask as one JSON object. A withheld answer is left out, because the reader may be a model.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::outcome::{AskReport, AskResult};
use crate::commands::CommandContext;
use crate::report::Result;

pub(super) fn print_json(ctx: &CommandContext, report: &AskReport) -> Result {
    write!(ctx.ui.stdout(), "{}", contract::text::to_visible_json(&to_json(report)))?;
    Ok(())
}

fn to_json(report: &AskReport) -> Value {
    let mut view = Map::new();
    view.insert("ask".into(), report.ask.as_str().into());
    view.insert("outcome".into(), report.name().into());
    let (server, tool) = report.tool.clone().unzip();
    view.insert("server".into(), server.into());
    view.insert("tool".into(), tool.into());
    let rest = match &report.what {
        AskResult::Answered { arguments, result, summary } => {
            let mut rest = json!({"arguments": arguments, "result": result});
            match summary {
                Some(Ok(summary)) => {
                    rest["summary"] = json!({
                        "type": "summary", "bullets": summary.bullets, "rejected": summary.rejected,
                    });
                }
                Some(Err(reason)) => rest["noSummary"] = reason.as_str().into(),
                None => {}
            }
            rest
        }
        AskResult::NeedsMoreInfo { question } => json!({"question": question}),
        AskResult::NoTool { reason } => json!({"reason": reason}),
        AskResult::Stopped { gate, reason } | AskResult::BrokeDown { gate, reason } => {
            json!({"gate": {"number": gate.number(), "name": gate.name()}, "reason": reason})
        }
        AskResult::Failed { error } => json!({"error": error.to_envelope()["error"]}),
        AskResult::Withheld { violation, kept, .. } => json!({"reason": violation, "callId": kept}),
    };
    if let Value::Object(rest) = rest {
        view.extend(rest);
    }
    view.into()
}
