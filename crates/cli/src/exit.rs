//! Exit codes: what a script may rely on. `vouch --help` prints this table.

use std::process::ExitCode;

use app::failure::FailureKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Success,
    No,
    Usage,
    Failed,
    Interrupted,
}

impl Exit {
    pub(crate) const ALL: [Self; 5] =
        [Self::Success, Self::No, Self::Usage, Self::Failed, Self::Interrupted];

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::No => 1,
            // clap exits with the same for wrong flags.
            Self::Usage => 2,
            Self::Failed => 3,
            // 128 + SIGINT, as shells have it.
            Self::Interrupted => 130,
        }
    }

    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Success => "done",
            Self::No => {
                "the answer is no: a call or a test failed, an audit line is bad, a check failed"
            }
            Self::Usage => "the command line or the configuration is wrong",
            Self::Failed => "it could not be done: a file, the port, the store, the network",
            Self::Interrupted => "stopped before it was done, by Ctrl-C or SIGTERM",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl From<FailureKind> for Exit {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Negative => Self::No,
            FailureKind::Usage => Self::Usage,
            FailureKind::Operation => Self::Failed,
            FailureKind::Interrupted => Self::Interrupted,
        }
    }
}
