//! Prints failures: the error, each cause once, and hints to paste.

use std::io::Write;

pub(crate) use app::failure::{Explain, Failure, FailureKind, Result};
use contract::text::visible;

use crate::ui::{self, Ui};

/// True if standard output has gone away, which is how `vouch … | head` ends.
pub(crate) fn is_broken_pipe(failure: &Failure) -> bool {
    failure
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Writes the failure to standard error. An error while writing is ignored: there is no other place to report it.
pub(crate) fn print_failure(ui: Ui, failure: &Failure) {
    let mut out = ui.err();
    let (error, why, hint) = (ui::ERROR, ui::DIM, ui::HINT);
    let mut chain = failure.chain();
    let first = chain.next().map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(out, "{error}error:{error:#} {}", visible(&first));
    let mut said = first;
    for cause in chain {
        let text = cause.to_string();
        // Some errors repeat the text of their cause; once is enough.
        if !said.contains(&text) && !text.contains(&said) {
            let _ = writeln!(out, "  {why}why:{why:#} {}", visible(text.trim_end()));
            said = text;
        }
    }
    for text in failure.hints() {
        let _ = writeln!(out, "{hint}hint:{hint:#} {}", visible(text));
    }
}
