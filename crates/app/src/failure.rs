//! The error type of commands: a message, its causes, hints, and a kind that decides the exit code.

use std::fmt::Display;

/// The kind of a failure. The binary maps each kind to an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The command worked and the result is negative: a failed call, test or check, or a bad audit line.
    Negative,
    /// The command line or the configuration is invalid.
    Usage,
    /// The operation failed: a file, the port, the store, the network.
    Operation,
    /// Ctrl-C or SIGTERM stopped the command before it finished.
    Interrupted,
}

/// A failed command. Any error converts with `?`; callers add hints and the kind.
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
        let hint = failure.find_cause::<store::StoreError>().and_then(store::StoreError::hint);
        failure.hints.extend(hint.map(str::to_owned));
        failure
    }
}

impl Failure {
    /// Creates a failure from a message.
    pub fn new(message: impl Display) -> Self {
        anyhow::anyhow!("{message}").into()
    }

    /// Creates a failure of kind [`FailureKind::Usage`].
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

    /// Returns the kind of failure, which decides the exit code.
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// Returns the error and its causes, outermost first.
    pub fn causes(&self) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
        self.error.chain()
    }

    /// Returns the hints, in the order in which they were added.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Returns the first error of this type among the error and its causes.
    pub fn find_cause<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.error.chain().find_map(|cause| cause.downcast_ref())
    }

    /// Returns the error and its causes on one line.
    pub fn to_one_line(&self) -> String {
        let causes = self.error.chain().map(ToString::to_string);
        causes.collect::<Vec<_>>().join(": ")
    }

    /// Returns the first hint, or an empty string.
    pub fn first_hint(&self) -> String {
        self.hints.first().cloned().unwrap_or_default()
    }
}

/// Adds context and hints to the error of any result.
pub trait FailureExt<T> {
    /// Adds a message in front of the error, like `anyhow`'s `context`.
    fn explain(self, what: impl Display) -> Result<T>;
    /// Adds a hint to the error.
    fn hint(self, hint: impl Display) -> Result<T>;
}

impl<T, E: Into<Failure>> FailureExt<T> for std::result::Result<T, E> {
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
