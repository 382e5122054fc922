//! How a failure reaches a person: what failed, why (each cause once), and what to paste.

use std::fmt::Display;
use std::io::Write;

use contract::text::visible;

use crate::exit::Exit;
use crate::ui::{self, Ui};

/// A failed command. Any error becomes one with `?`; hints and the exit code are added on the way up.
#[derive(Debug)]
pub(crate) struct Failure {
    error: anyhow::Error,
    hints: Vec<String>,
    exit: Exit,
}

pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let mut failure = Self { error, hints: Vec::new(), exit: Exit::Failed };
        let hint = failure.find::<store::StoreError>().and_then(store::StoreError::hint);
        failure.hints.extend(hint.map(str::to_owned));
        failure
    }
}

impl Failure {
    pub(crate) fn new(message: impl Display) -> Self {
        anyhow::anyhow!("{message}").into()
    }

    /// A mistake in the command line.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(message).with_exit(Exit::Usage)
    }

    pub(crate) fn with_hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    pub(crate) fn with_exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// The first of this type among the error and its causes.
    pub(crate) fn find<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.error.chain().find_map(|cause| cause.downcast_ref())
    }

    /// What failed and why, on one line.
    pub(crate) fn one_line(&self) -> String {
        let causes = self.error.chain().map(ToString::to_string);
        causes.collect::<Vec<_>>().join(": ")
    }

    pub(crate) fn first_hint(&self) -> String {
        self.hints.first().cloned().unwrap_or_default()
    }

    /// True where standard output has gone away, which is how `vouch … | head` ends.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.error
            .chain()
            .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
            .any(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    }

    /// Writes the report. There is nobody left to tell if that fails.
    pub(crate) fn print(&self, ui: &Ui) {
        let mut out = ui.err();
        let (error, why, hint) = (ui::ERROR, ui::DIM, ui::HINT);
        let mut chain = self.error.chain();
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
        for text in &self.hints {
            let _ = writeln!(out, "{hint}hint:{hint:#} {}", visible(text));
        }
    }
}

/// `anyhow`'s `context` and our hints on any result.
pub(crate) trait Explain<T> {
    fn explain(self, what: impl Display) -> Result<T>;
    fn hint(self, hint: impl Display) -> Result<T>;
}

impl<T, E: Into<Failure>> Explain<T> for std::result::Result<T, E> {
    fn explain(self, what: impl Display) -> Result<T> {
        self.map_err(|error| {
            let failure = error.into();
            Failure { error: failure.error.context(what.to_string()), ..failure }
        })
    }

    fn hint(self, hint: impl Display) -> Result<T> {
        self.map_err(|error| error.into().with_hint(hint))
    }
}
