//! Gate 4: the answer carries structured content, is no error, and satisfies the output schema and the typed parser.
//!
//! What passes is [`Validated`], the only form in which a model ever sees an answer. What does not is for the person:
//! raw, as it came.

use contract::{Code, Output, ToolError};
use runtime::Reply;
use serde_json::Value;

use crate::json::shortened;
use crate::offer::Offer;
use crate::typed::{Parsed, Parsers, TypedError, Validated};

/// An answer that nobody may reason over.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw {
    /// As the tool gave it.
    Output(Output),
    /// The pipeline has withheld it already; what it says of that, often with the number under which people find it.
    Kept(ToolError),
}

/// What became of a call.
#[derive(Debug)]
pub(crate) enum Judged {
    Kept {
        output: Output,
        value: Validated,
        parsed: Parsed,
    },
    Withheld {
        raw: Raw,
        violation: AnswerError,
    },
    /// Nothing came back that could be judged.
    Failed(ToolError),
}

/// Why an answer is withheld.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error("the answer has no structured content")]
    NoStructure,
    #[error("the pipeline withheld the answer as {code}{}", rule(.violation.as_deref()))]
    Pipeline {
        code: Code,
        /// `<keyword> at <path>`, in words of the contract alone.
        violation: Option<String>,
    },
    #[error(transparent)]
    Typed(#[from] TypedError),
}

fn rule(violation: Option<&str>) -> String {
    violation.map_or_else(String::new, |violation| format!(" ({violation})"))
}

pub(crate) fn judge(offer: &Offer, reply: Reply, parsers: &Parsers) -> Judged {
    let output = match reply {
        // Who says that it failed has no result.
        Reply::Done(output) => match output.failure() {
            Some(error) => return Judged::Failed(error),
            None => output,
        },
        Reply::Failed(error) if is_withheld(&error) => {
            let violation = error.details.get("violation").and_then(Value::as_str);
            let violation = violation.map(|violation| shortened(violation, 200));
            let violation = AnswerError::Pipeline { code: error.code, violation };
            return Judged::Withheld { raw: Raw::Kept(error), violation };
        }
        Reply::Failed(error) => return Judged::Failed(error),
        Reply::InputRequired { .. } | Reply::Refused(_) => {
            return Judged::Failed(ToolError::new(
                Code::ApprovalRequired,
                "the tool has a question for a person, and none can be reached",
            ));
        }
    };
    match read(offer, &output, parsers) {
        Ok((value, parsed)) => Judged::Kept { output, value, parsed },
        Err(violation) => Judged::Withheld { raw: Raw::Output(output), violation },
    }
}

/// There was an answer, and the pipeline keeps it for people: it broke its contract, or a rule of the operator's.
fn is_withheld(error: &ToolError) -> bool {
    error.code == Code::ContractViolation || error.details.contains_key("callId")
}

fn read(
    offer: &Offer,
    output: &Output,
    parsers: &Parsers,
) -> Result<(Validated, Parsed), AnswerError> {
    let Some(structured) = &output.structured else { return Err(AnswerError::NoStructure) };
    let value = Validated::new(&offer.contract, structured.clone())?;
    let parsed = parsers.parse(offer, &value)?;
    Ok((value, parsed))
}
