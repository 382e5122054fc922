//! The result of an ask, in the form that `print` and `json` share.

use contract::text::one_line;
use contract::{ContentBlock, ErrorCode, ToolError, ToolOutput};
use host::summary::GroundedSummary;
use host::{AskAnswer, AskGate, AskOutcome, RawAnswer, TracedOutcome};
use serde_json::{Map, Value};
use store::Store;

use crate::exit::ExitStatus;

/// Result of one query, ready to be printed.
pub(super) struct AskReport {
    /// ID of the trace.
    pub(super) ask: String,
    /// Server and tool, if one was chosen.
    pub(super) tool: Option<(String, String)>,
    pub(super) what: AskResult,
}

/// Outcome of one query, with the fields that are printed.
pub(super) enum AskResult {
    Answered {
        arguments: Map<String, Value>,
        result: Value,
        /// `None` if no summary was requested; `Err` with the reason if it was rejected.
        summary: Option<Result<GroundedSummary, String>>,
    },
    NeedsMoreInfo {
        question: String,
    },
    NoTool {
        reason: String,
    },
    Stopped {
        gate: AskGate,
        reason: String,
    },
    /// The planner or a server failed before a gate decided.
    BrokeDown {
        gate: AskGate,
        reason: String,
    },
    Failed {
        error: ToolError,
    },
    /// The answer broke its contract. People may inspect it; models may not.
    Withheld {
        violation: String,
        /// Raw text, not escaped for a terminal.
        raw: Option<String>,
        /// ID under which the store keeps the answer.
        kept: Option<String>,
    },
}

impl AskReport {
    /// Converts the result of `host`. Reads a withheld answer from the store if it is kept there.
    pub(super) async fn from_asked(asked: TracedOutcome, store: &dyn Store) -> Self {
        let ask = asked.trace.id().to_owned();
        let name = |offer: &host::ToolOffer| Some((offer.server.clone(), offer.tool.clone()));
        let (tool, what) = match asked.outcome {
            AskOutcome::Answered(answered) => {
                let tool = name(&answered.offer);
                (tool, classify_answer(*answered))
            }
            AskOutcome::NeedsMoreInfo { question } => (None, AskResult::NeedsMoreInfo { question }),
            AskOutcome::NoTool { reason } => (None, AskResult::NoTool { reason }),
            AskOutcome::Stopped(reason) => {
                let (gate, reason) = (reason.gate(), one_line(&reason.to_string()));
                (None, AskResult::Stopped { gate, reason })
            }
            AskOutcome::PlanningFailed(breakdown) => {
                let (gate, reason) = (breakdown.gate(), one_line(&breakdown.to_string()));
                (None, AskResult::BrokeDown { gate, reason })
            }
            AskOutcome::ToolFailed { offer, error } => (name(&offer), AskResult::Failed { error }),
            AskOutcome::Withheld { offer, raw, violation } => {
                (name(&offer), classify_withheld(raw, &violation.to_string(), store).await)
            }
        };
        Self { ask, tool, what }
    }

    /// Returns the name of the outcome in the JSON output.
    pub(super) fn name(&self) -> &'static str {
        match &self.what {
            AskResult::Answered { .. } => "answered",
            AskResult::NeedsMoreInfo { .. } => "needs_more_info",
            AskResult::NoTool { .. } => "no_tool",
            AskResult::Stopped { .. } => "stopped",
            AskResult::BrokeDown { .. } | AskResult::Failed { .. } => "failed",
            AskResult::Withheld { .. } => "withheld",
        }
    }

    pub(super) fn exit_status(&self) -> ExitStatus {
        match &self.what {
            AskResult::Answered { .. } => ExitStatus::Success,
            AskResult::BrokeDown { .. } => ExitStatus::Failed,
            AskResult::Failed { error } => match error.code {
                ErrorCode::UpstreamUnavailable
                | ErrorCode::StorageUnavailable
                | ErrorCode::ExecutionTimeout
                | ErrorCode::InternalError => ExitStatus::Failed,
                _ => ExitStatus::Negative,
            },
            _ => ExitStatus::Negative,
        }
    }
}

fn classify_answer(answered: AskAnswer) -> AskResult {
    // A tool's report of its own failure is not an answer, in whatever form it is returned.
    if let Some(error) = answered.output.to_tool_error() {
        return AskResult::Failed { error };
    }
    AskResult::Answered {
        arguments: answered.arguments,
        result: answered.value.value().clone(),
        summary: answered.summary.map(|summary| summary.map_err(|error| error.to_string())),
    }
}

async fn classify_withheld(raw: RawAnswer, violation: &str, store: &dyn Store) -> AskResult {
    match raw {
        RawAnswer::Output(output) => match output.to_tool_error() {
            Some(error) => AskResult::Failed { error },
            None => {
                let violation = violation.to_owned();
                AskResult::Withheld { violation, raw: Some(output_text(&output)), kept: None }
            }
        },
        RawAnswer::WithheldByPipeline(error) => {
            let kept = error.details.get("callId").and_then(Value::as_str).map(str::to_owned);
            let raw = match &kept {
                Some(id) => store.find_withheld_answer(id).await.ok().map(|kept| kept.raw),
                None => None,
            };
            AskResult::Withheld { violation: error.message, raw, kept }
        }
    }
}

/// Returns the raw text of an answer, or its contents if the raw text was not kept.
fn output_text(output: &ToolOutput) -> String {
    if let Some(raw) = &output.raw {
        return raw.text.to_string();
    }
    let texts = output.content.iter().map(|content| match content {
        ContentBlock::Text(text) => text.clone(),
        ContentBlock::Block(block) => block.to_string(),
    });
    let structured = output.structured.as_ref().map(ToString::to_string);
    texts.chain(structured).collect::<Vec<_>>().join("\n")
}
