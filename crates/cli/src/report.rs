//! Prints failures: the error, each distinct cause, and hints with commands to run.

use std::io::Write;

pub(crate) use app::failure::{Failure, FailureExt, FailureKind, Result};

use crate::ui::{self, Ui, format_message};

/// Returns true if standard output was closed by its reader, as in `vouch … | head`.
pub(crate) fn is_broken_pipe(failure: &Failure) -> bool {
    failure
        .causes()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Writes the failure to standard error. Errors while writing are ignored: they cannot be reported elsewhere.
pub(crate) fn print_failure(ui: Ui, failure: &Failure) {
    let mut out = ui.stderr();
    let (error, why, hint) = (ui::ERROR, ui::DIM, ui::HINT);
    let mut chain = failure.causes();
    let first = chain.next().map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(out, "{error}error:{error:#} {}", format_message(&first));
    let mut last_text = first;
    for cause in chain {
        let text = cause.to_string();
        // Some errors repeat the text of their cause.
        if !last_text.contains(&text) && !text.contains(&last_text) {
            let _ = writeln!(out, "  {why}why:{why:#} {}", format_message(text.trim_end()));
            last_text = text;
        }
    }
    for text in failure.hints() {
        let _ = writeln!(out, "{hint}hint:{hint:#} {}", format_message(text));
    }
}
