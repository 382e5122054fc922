//! How a failure reaches a person: what failed, why (each cause once), and what to paste.

use std::fmt::Display;

/// The kinds of failure that a script can tell apart. The binary maps each to an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The answer is no: a call or a test failed, an audit line is bad, a check failed.
    Negative,
    /// The command line or the configuration is wrong.
    Usage,
    /// The operation failed: a file, the port, the store, the network.
    Operation,
    /// Stopped by Ctrl-C or SIGTERM before it was done.
    Interrupted,
}

/// A failed command. Any error becomes one with `?`; hints and the exit code are added on the way up.
#[derive(Debug)]
pub struct Failure {
    error: anyhow::Error,
    hints: Vec<String>,
    kind: FailureKind,
}

/// The result of a command or of a part of it.
pub type Result<T = ()> = std::result::Result<T, Failure>;

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let mut failure = Self { error, hints: Vec::new(), kind: FailureKind::Operation };
        let hint = failure.find::<store::StoreError>().and_then(store::StoreError::hint);
        failure.hints.extend(hint.map(str::to_owned));
        failure
    }
}

impl Failure {
    /// Creates a failure from a message.
    pub fn new(message: impl Display) -> Self {
        anyhow::anyhow!("{message}").into()
    }

    /// A mistake in the command line.
    pub fn usage(message: impl Display) -> Self {
        Self::new(message).with_kind(FailureKind::Usage)
    }

    /// Adds a hint.
    pub fn with_hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// Replaces the kind of failure.
    pub fn with_kind(mut self, kind: FailureKind) -> Self {
        self.kind = kind;
        self
    }

    /// The kind of failure, which decides the exit code.
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// The error with its causes, outermost first.
    pub fn chain(&self) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
        self.error.chain()
    }

    /// The hints, in the order in which they were added.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// The first of this type among the error and its causes.
    pub fn find<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.error.chain().find_map(|cause| cause.downcast_ref())
    }

    /// What failed and why, on one line.
    pub fn one_line(&self) -> String {
        let causes = self.error.chain().map(ToString::to_string);
        causes.collect::<Vec<_>>().join(": ")
    }

    /// Returns the first hint, or an empty text.
    pub fn first_hint(&self) -> String {
        self.hints.first().cloned().unwrap_or_default()
    }
}

/// `anyhow`'s `context` and our hints on any result.
pub trait Explain<T> {
    /// Adds a context to the error.
    fn explain(self, what: impl Display) -> Result<T>;
    /// Adds a hint to the error.
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
