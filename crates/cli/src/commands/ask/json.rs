//! What came of an ask as one object, for scripts. A withheld answer is not in it: whoever reads this may be a model.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::outcome::{Told, What};
use crate::commands::Context;
use crate::report::Result;

pub(super) fn put(ctx: &Context, told: &Told) -> Result {
    write!(ctx.ui.out(), "{}", contract::text::json(&view(told)))?;
    Ok(())
}

fn view(told: &Told) -> Value {
    let mut view = Map::new();
    view.insert("ask".into(), told.ask.as_str().into());
    view.insert("outcome".into(), told.name().into());
    let (server, tool) = told.tool.clone().unzip();
    view.insert("server".into(), server.into());
    view.insert("tool".into(), tool.into());
    let rest = match &told.what {
        What::Answered { arguments, result, summary } => {
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
        What::NeedsMoreInfo { question } => json!({"question": question}),
        What::NoTool { reason } => json!({"reason": reason}),
        What::Stopped { gate, reason } | What::BrokeDown { gate, reason } => {
            json!({"gate": {"number": gate.number(), "name": gate.name()}, "reason": reason})
        }
        What::Failed { error } => json!({"error": error.envelope()["error"]}),
        What::Withheld { violation, kept, .. } => json!({"reason": violation, "callId": kept}),
    };
    if let Value::Object(rest) = rest {
        view.extend(rest);
    }
    view.into()
}
