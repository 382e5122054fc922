//! A started campaign as the tools see it: the state shared with its workers, and caches for quick answers.

use std::path::PathBuf;
use std::sync::Arc;

use contract::{ErrorCode, ToolError};
use fuzz::campaign::{CampaignCommand, CampaignState, WorkerEndReason};
use fuzz::reproducer::foundry::ReproducerScene;
use fuzz::target::FuzzTarget;

use crate::branch_locations::BranchLocations;
use crate::call_rate::CallRate;
use crate::command_log::CommandLog;
use crate::corpus::CorpusCache;
use crate::coverage_cache::CoverageCache;
use crate::slot::LiveCampaign;

pub(crate) struct CampaignView {
    pub(crate) shared: Arc<CampaignState>,
    pub(crate) output: Option<PathBuf>,
    pub(crate) scene: Option<ReproducerScene>,
    log: CommandLog,
    pub(crate) coverage: CoverageCache,
    pub(crate) corpus: CorpusCache,
    pub(crate) call_rate: CallRate,
    pub(crate) branch_locations: BranchLocations,
}

impl CampaignView {
    pub(crate) fn new(live: LiveCampaign) -> Self {
        let LiveCampaign { shared, output, scene, log } = live;
        Self {
            coverage: CoverageCache::new(Arc::clone(&shared)),
            corpus: CorpusCache::default(),
            call_rate: CallRate::new(shared.calls()),
            branch_locations: BranchLocations::new(Arc::clone(&shared.target)),
            shared,
            output,
            scene,
            log,
        }
    }

    pub(crate) fn target(&self) -> &FuzzTarget {
        &self.shared.target
    }

    /// Returns the reason that the campaign ended, or `None` while it runs.
    pub(crate) fn end_reason(&self) -> Option<String> {
        if !self.shared.has_ended() {
            return None;
        }
        let reason = self.shared.end_reason().unwrap_or(WorkerEndReason::Stopped);
        Some(reason.to_string())
    }

    /// Returns an error if the campaign no longer takes commands.
    pub(crate) fn check_steerable(&self) -> Result<(), ToolError> {
        let reason = match self.end_reason() {
            Some(reason) => reason,
            None if self.shared.accepts_commands() => return Ok(()),
            None => "no new calls are made while the current ones finish".to_owned(),
        };
        let message = format!(
            "the campaign has ended: {reason}; it can be read but no longer steered; start a new campaign to continue"
        );
        let error = ToolError::new(ErrorCode::InvalidInput, message);
        Err(error.with_detail("state", "ended").with_detail("reason", reason))
    }

    /// Gives a command to all workers. The command is logged before any of them can see it.
    pub(crate) fn give_command(&self, command: CampaignCommand) -> Result<(), ToolError> {
        let shared = &self.shared;
        let noted = command.clone();
        let note = |round: u64| {
            self.log.append_command(round, &shared.calls_by_worker(), &noted, &shared.target)
        };
        shared.issue_command(command, note).map(drop).map_err(|cause| {
            tracing::error!(%cause, "failed to write to the command log");
            ToolError::new(
                ErrorCode::InternalError,
                "failed to write the command to the command log, so it was not given; \
                 free space in the corpus folder and try again",
            )
        })
    }
}
