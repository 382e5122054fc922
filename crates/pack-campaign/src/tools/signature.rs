//! Looks up functions by their signature.

use fuzz::script;
use fuzz::target::{FunctionId, FuzzTarget};

use super::invalid_argument;
use crate::text;
use contract::ToolError;

/// Returns all functions with this signature; several smart contracts may have one. Returns an empty list if none
/// has.
///
/// The agreed pattern allows no `)` inside a signature, so a tuple may be written as `{…}`.
pub(super) fn find_functions(
    signature: &str,
    target: &FuzzTarget,
) -> Result<Vec<FunctionId>, ToolError> {
    if signature.contains(char::is_whitespace) {
        let message = format!(
            "`functionSignature` must be canonical and contain no spaces: write `{}`",
            guard::display_path(&signature.split_whitespace().collect::<String>())
        );
        return Err(invalid_argument("functionSignature", message));
    }
    let canonical = to_canonical(signature);
    let functions = (0..).map(FunctionId).zip(&target.functions);
    let same = functions.filter(|(_, function)| function.signature == canonical);
    Ok(same.map(|(id, _)| id).collect())
}

fn to_canonical(signature: &str) -> String {
    signature.replace('{', "(").replace('}', ")")
}

/// Returns the functions with this signature that the fuzzer calls. Returns an error with suggestions if there are
/// none.
pub(super) fn find_callable(
    signature: &str,
    target: &FuzzTarget,
) -> Result<Vec<FunctionId>, ToolError> {
    let known = find_functions(signature, target)?;
    if known.is_empty() {
        return Err(unknown_function_error(signature, target));
    }
    let callable: Vec<FunctionId> =
        known.into_iter().filter(|id| target.callable.contains(id)).collect();
    if callable.is_empty() {
        let message = format!(
            "`{}` is not called by the fuzzer: it is a test, or a filter excludes it; campaign_target lists the called \
             functions",
            guard::display_path(signature)
        );
        return Err(invalid_argument("functionSignature", message));
    }
    Ok(callable)
}

fn unknown_function_error(signature: &str, target: &FuzzTarget) -> ToolError {
    let nearest = script::find_nearest_signatures(&to_canonical(signature), target);
    let hint = match nearest.as_slice() {
        [] => "campaign_target lists all functions".to_owned(),
        names => format!("did you mean {}?", text::list_names(names.iter().map(String::as_str))),
    };
    let shown = guard::display_path(signature);
    invalid_argument("functionSignature", format!("unknown function `{shown}`; {hint}"))
        .with_detail("functionSignature", shown)
        .with_detail("nearest", nearest)
}
