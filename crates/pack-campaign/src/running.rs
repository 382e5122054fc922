//! A campaign as the tools see it: what it shares, and what the pack keeps of it to answer quickly.

use std::path::PathBuf;
use std::sync::Arc;

use contract::{Code, ToolError};
use fuzz::campaign::{CAPACITY, Command, Happening, Shared};
use fuzz::reproducer::foundry::Scene;
use fuzz::target::Target;

use crate::corpus::Corpus;
use crate::cover::Cover;
use crate::log::CommandLog;
use crate::pace::Pace;
use crate::places::Places;
use crate::seat::Live;

pub(crate) struct Running {
    pub(crate) shared: Arc<Shared>,
    pub(crate) output: Option<PathBuf>,
    pub(crate) scene: Option<Scene>,
    log: CommandLog,
    pub(crate) cover: Cover,
    pub(crate) corpus: Corpus,
    pub(crate) pace: Pace,
    pub(crate) places: Places,
}

impl Running {
    pub(crate) fn new(live: Live) -> Self {
        let Live { shared, output, scene, log } = live;
        Self {
            cover: Cover::new(Arc::clone(&shared)),
            corpus: Corpus::default(),
            pace: Pace::new(shared.calls()),
            places: Places::new(Arc::clone(&shared.target)),
            shared,
            output,
            scene,
            log,
        }
    }

    pub(crate) fn target(&self) -> &Target {
        &self.shared.target
    }

    /// Why the campaign ended, if it did.
    pub(crate) fn ended(&self) -> Option<String> {
        if !self.shared.has_ended() {
            return None;
        }
        let events = self.shared.events.last(CAPACITY);
        let reason = events.iter().find_map(|event| match &event.what {
            Happening::WorkerStopped { reason } => Some(reason.clone()),
            _ => None,
        });
        Some(reason.unwrap_or_else(|| "it was stopped".to_owned()))
    }

    /// Refuses to steer what does not run any more.
    pub(crate) fn check_steerable(&self) -> Result<(), ToolError> {
        let reason = match self.ended() {
            Some(reason) => reason,
            None if self.shared.takes_commands() => return Ok(()),
            None => "it makes no new calls and only finishes what it has begun".to_owned(),
        };
        let message = format!(
            "the campaign has ended: {reason}. It can still be read, but not steered; start another one to go on"
        );
        let error = ToolError::new(Code::InvalidInput, message);
        Err(error.with("state", "ended").with("reason", reason))
    }

    /// Gives a command to all workers. It is in the log before any of them can see it.
    pub(crate) fn give(&self, command: Command) -> Result<(), ToolError> {
        let shared = &self.shared;
        let noted = command.clone();
        let note =
            |round: u64| self.log.note(round, &shared.calls_by_worker(), &noted, &shared.target);
        shared.give(command, note).map(drop).map_err(|cause| {
            tracing::error!(%cause, "a command could not be written to the log of commands");
            ToolError::new(
                Code::InternalError,
                "the command could not be written to the log of commands, so it was not given; \
                 make room in the folder of the corpus and try again",
            )
        })
    }
}
