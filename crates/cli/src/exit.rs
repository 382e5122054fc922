//! Exit codes, which scripts may rely on. `vouch --help` prints them as a table.

use std::process::ExitCode;

use app::failure::FailureKind;

/// Outcome of a command, as the process reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    Success,
    Negative,
    Usage,
    Failed,
    Interrupted,
}

impl ExitStatus {
    pub(crate) const ALL: [Self; 5] =
        [Self::Success, Self::Negative, Self::Usage, Self::Failed, Self::Interrupted];

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Negative => 1,
            // clap uses the same code for invalid flags.
            Self::Usage => 2,
            Self::Failed => 3,
            // 128 + SIGINT, the shell convention.
            Self::Interrupted => 130,
        }
    }

    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Negative => {
                "negative result: a call, test or check failed, or an audit line is invalid"
            }
            Self::Usage => "invalid command line or configuration",
            Self::Failed => "operation failed: a file, the port, the store or the network",
            Self::Interrupted => "interrupted by Ctrl-C or SIGTERM",
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(exit: ExitStatus) -> Self {
        Self::from(exit.code())
    }
}

impl From<FailureKind> for ExitStatus {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Negative => Self::Negative,
            FailureKind::Usage => Self::Usage,
            FailureKind::Operation => Self::Failed,
            FailureKind::Interrupted => Self::Interrupted,
        }
    }
}
