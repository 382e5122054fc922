//! Functions by their signature.

use fuzz::script;
use fuzz::target::{FunctionId, Target};

use super::invalid;
use crate::text;
use contract::ToolError;

/// All functions of this signature; several contracts may have one. None where no contract does.
///
/// The contract's pattern lets no `)` stand inside a signature, so a tuple may be written `{…}`.
pub(super) fn all(signature: &str, target: &Target) -> Result<Vec<FunctionId>, ToolError> {
    if signature.contains(char::is_whitespace) {
        let message = format!(
            "`functionSignature` must be canonical, without spaces: write `{}`",
            guard::shown(&signature.split_whitespace().collect::<String>())
        );
        return Err(invalid("functionSignature", message));
    }
    let canonical = canonical(signature);
    let functions = (0..).map(FunctionId).zip(&target.functions);
    let same = functions.filter(|(_, function)| function.signature == canonical);
    Ok(same.map(|(id, _)| id).collect())
}

fn canonical(signature: &str) -> String {
    signature.replace('{', "(").replace('}', ")")
}

/// Those that the fuzzer calls. A signature that names none is refused, with what may have been meant.
pub(super) fn callable(signature: &str, target: &Target) -> Result<Vec<FunctionId>, ToolError> {
    let known = all(signature, target)?;
    if known.is_empty() {
        return Err(unknown(signature, target));
    }
    let callable: Vec<FunctionId> =
        known.into_iter().filter(|id| target.callable.contains(id)).collect();
    if callable.is_empty() {
        let message = format!(
            "`{}` is not called by the fuzzer: it is a test, or a filter leaves it out; campaign_target lists what is \
             called",
            guard::shown(signature)
        );
        return Err(invalid("functionSignature", message));
    }
    Ok(callable)
}

fn unknown(signature: &str, target: &Target) -> ToolError {
    let nearest = script::nearest(&canonical(signature), target);
    let told = match nearest.as_slice() {
        [] => "campaign_target lists those that it has".to_owned(),
        names => format!("did you mean {}?", text::names(names.iter().map(String::as_str))),
    };
    let shown = guard::shown(signature);
    invalid("functionSignature", format!("the target has no function `{shown}`; {told}"))
        .with("functionSignature", shown)
        .with("nearest", nearest)
}
