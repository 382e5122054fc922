//! What came of an ask, in the words of people and of scripts.

use contract::text::one_line;
use contract::{Code, Content, Output, ToolError};
use host::summary::Summary;
use host::{Answered, Asked, Gate, Outcome, Raw};
use serde_json::{Map, Value};
use store::Store;

use crate::exit::Exit;

pub(super) struct Told {
    /// The id of its trace.
    pub(super) ask: String,
    /// `server` and `tool`, once one was chosen.
    pub(super) tool: Option<(String, String)>,
    pub(super) what: What,
}

pub(super) enum What {
    Answered {
        arguments: Map<String, Value>,
        result: Value,
        /// The reason, where one was wanted and there is none.
        summary: Option<Result<Summary, String>>,
    },
    NeedsMoreInfo {
        question: String,
    },
    NoTool {
        reason: String,
    },
    Stopped {
        gate: Gate,
        reason: String,
    },
    /// The planner or the servers failed; no gate had a say.
    BrokeDown {
        gate: Gate,
        reason: String,
    },
    Failed {
        error: ToolError,
    },
    /// Nobody may reason over it; a person may look at it.
    Withheld {
        violation: String,
        /// As it came, not made safe for a terminal.
        raw: Option<String>,
        /// Under which it is kept.
        kept: Option<String>,
    },
}

impl Told {
    pub(super) async fn of(asked: Asked, store: &dyn Store) -> Self {
        let ask = asked.trace.id().to_owned();
        let name = |offer: &host::Offer| Some((offer.server.clone(), offer.tool.clone()));
        let (tool, what) = match asked.outcome {
            Outcome::Answered(answered) => {
                let tool = name(&answered.offer);
                (tool, answer(*answered))
            }
            Outcome::NeedsMoreInfo { question } => (None, What::NeedsMoreInfo { question }),
            Outcome::NoTool { reason } => (None, What::NoTool { reason }),
            Outcome::Stopped(reason) => {
                let (gate, reason) = (reason.gate(), one_line(&reason.to_string()));
                (None, What::Stopped { gate, reason })
            }
            Outcome::BrokeDown(breakdown) => {
                let (gate, reason) = (breakdown.gate(), one_line(&breakdown.to_string()));
                (None, What::BrokeDown { gate, reason })
            }
            Outcome::Failed { offer, error } => (name(&offer), What::Failed { error }),
            Outcome::Withheld { offer, raw, violation } => {
                (name(&offer), withheld(raw, &violation.to_string(), store).await)
            }
        };
        Self { ask, tool, what }
    }

    pub(super) fn name(&self) -> &'static str {
        match &self.what {
            What::Answered { .. } => "answered",
            What::NeedsMoreInfo { .. } => "needs_more_info",
            What::NoTool { .. } => "no_tool",
            What::Stopped { .. } => "stopped",
            What::BrokeDown { .. } | What::Failed { .. } => "failed",
            What::Withheld { .. } => "withheld",
        }
    }

    pub(super) fn exit(&self) -> Exit {
        match &self.what {
            What::Answered { .. } => Exit::Success,
            What::BrokeDown { .. } => Exit::Failed,
            What::Failed { error } => match error.code {
                Code::UpstreamUnavailable | Code::ExecutionTimeout | Code::InternalError => {
                    Exit::Failed
                }
                _ => Exit::No,
            },
            _ => Exit::No,
        }
    }
}

fn answer(answered: Answered) -> What {
    // The tool's own word that it failed is no answer, in whatever form it comes.
    if let Some(error) = answered.output.failure() {
        return What::Failed { error };
    }
    What::Answered {
        arguments: answered.arguments,
        result: answered.value.value().clone(),
        summary: answered.summary.map(|summary| summary.map_err(|error| error.to_string())),
    }
}

async fn withheld(raw: Raw, violation: &str, store: &dyn Store) -> What {
    match raw {
        Raw::Output(output) => match output.failure() {
            Some(error) => What::Failed { error },
            None => {
                let violation = violation.to_owned();
                What::Withheld { violation, raw: Some(text(&output)), kept: None }
            }
        },
        Raw::Kept(error) => {
            let kept = error.details.get("callId").and_then(Value::as_str).map(str::to_owned);
            let raw = match &kept {
                Some(id) => store.kept_answer(id).await.ok().map(|kept| kept.raw),
                None => None,
            };
            What::Withheld { violation: error.message, raw, kept }
        }
    }
}

/// An answer as it came, or all that is left of it.
fn text(output: &Output) -> String {
    if let Some(raw) = &output.raw {
        return raw.text.to_string();
    }
    let texts = output.content.iter().map(|content| match content {
        Content::Text(text) => text.clone(),
        Content::Block(block) => block.to_string(),
    });
    let structured = output.structured.as_ref().map(ToString::to_string);
    texts.chain(structured).collect::<Vec<_>>().join("\n")
}
