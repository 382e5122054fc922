//! Gate 4: the answer has structured content, is not an error, and satisfies the output schema and the typed parser.
//!
//! An answer that passes becomes a [`ValidatedOutput`], the only form in which a model sees it. Any other answer is
//! shown to the person only, unchanged.

use contract::{ErrorCode, ToolError, ToolOutput};
use runtime::ToolReply;
use serde_json::Value;

use crate::json::shorten_text;
use crate::offer::ToolOffer;
use crate::typed::{OutputParsers, ParsedOutput, TypedError, ValidatedOutput};

/// A withheld answer, which no model may see.
#[derive(Clone, Debug, PartialEq)]
pub enum RawAnswer {
    /// The answer as the tool returned it.
    Output(ToolOutput),
    /// The pipeline withheld the answer. Holds its error, often with the call id under which the answer is stored.
    WithheldByPipeline(ToolError),
}

/// The result of checking an answer.
#[derive(Debug)]
pub(crate) enum AnswerVerdict {
    Accepted {
        output: ToolOutput,
        value: ValidatedOutput,
        parsed: ParsedOutput,
    },
    Withheld {
        raw: RawAnswer,
        violation: AnswerError,
    },
    /// The call failed, so there is no answer to check.
    Failed(ToolError),
}

/// The reason why an answer is withheld.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error("the answer has no structured content")]
    NoStructuredContent,
    #[error("the pipeline withheld the answer as {code}{}", format_violation(.violation.as_deref()))]
    Pipeline {
        code: ErrorCode,
        /// `<keyword> at <path>`, without values of the answer.
        violation: Option<String>,
    },
    #[error(transparent)]
    Typed(#[from] TypedError),
}

fn format_violation(violation: Option<&str>) -> String {
    violation.map_or_else(String::new, |violation| format!(" ({violation})"))
}

/// Checks the reply of a call against the contract and the registered type.
pub(crate) fn check_answer(
    offer: &ToolOffer,
    reply: ToolReply,
    parsers: &OutputParsers,
) -> AnswerVerdict {
    let output = match reply {
        // A reply that reports an error has no result.
        ToolReply::Done(output) => match output.to_tool_error() {
            Some(error) => return AnswerVerdict::Failed(error),
            None => output,
        },
        ToolReply::Failed(error) if is_withheld(&error) => {
            let violation = error.details.get("violation").and_then(Value::as_str);
            let violation = violation.map(|violation| shorten_text(violation, 200));
            let violation = AnswerError::Pipeline { code: error.code, violation };
            return AnswerVerdict::Withheld {
                raw: RawAnswer::WithheldByPipeline(error),
                violation,
            };
        }
        ToolReply::Failed(error) => return AnswerVerdict::Failed(error),
        ToolReply::InputRequired { .. } | ToolReply::Refused(_) => {
            return AnswerVerdict::Failed(ToolError::new(
                ErrorCode::ApprovalRequired,
                "the tool needs input from a person, and none is available",
            ));
        }
    };
    match parse_output(offer, &output, parsers) {
        Ok((value, parsed)) => AnswerVerdict::Accepted { output, value, parsed },
        Err(violation) => AnswerVerdict::Withheld { raw: RawAnswer::Output(output), violation },
    }
}

/// Returns true if the pipeline withheld the answer because it broke its contract or a rule of the operator.
fn is_withheld(error: &ToolError) -> bool {
    error.code == ErrorCode::ContractViolation || error.details.contains_key("callId")
}

fn parse_output(
    offer: &ToolOffer,
    output: &ToolOutput,
    parsers: &OutputParsers,
) -> Result<(ValidatedOutput, ParsedOutput), AnswerError> {
    let Some(structured) = &output.structured else { return Err(AnswerError::NoStructuredContent) };
    let value = ValidatedOutput::new(&offer.contract, structured.clone())?;
    let parsed = parsers.parse(offer, &value)?;
    Ok((value, parsed))
}
