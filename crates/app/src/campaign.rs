//! Prepares and starts fuzz campaigns, for `vouch fuzz` and for the campaign pack of `vouch serve`.
//!
//! ```text
//!  echidna.yaml, [fuzz], flags ──► plan ──► target (compiled, deployed) ──► PreparedCampaign ──► workers
//!                                                                               │
//!                                               corpus and reproducers: corpus ◄┴► coverage_report
//! ```
//!
//! Compiling is done by `solidity`, fuzzing by `fuzz`, steering by `pack_campaign`. The commands print the results.
//! Start at [`plan::CampaignPlan`], then [`PreparedCampaign`].

pub mod agent_server;
mod corpus;
pub mod coverage_report;
pub mod demo;
pub mod fork;
mod given_settings;
pub mod plan;
pub mod report_files;
pub mod server_campaigns;
pub mod target;
mod target_trust;

use std::path::PathBuf;
use std::sync::Arc;

use ::fuzz::campaign::{Campaign, CampaignCommand, CampaignOptions, CampaignRecorder};
use ::fuzz::corpus::CorpusRecorder;
use ::fuzz::generate::ValueDictionary;
use ::fuzz::reproducer::foundry::{ReproducerScene, SceneSource};
use pack_campaign::{CampaignSlot, CommandLog, LiveCampaign};

use crate::context::NoticeSink;
use crate::failure::{FailureExt, Result};
use corpus::CampaignCorpus;
use plan::CampaignPlan;
use target::DeployedTarget;

/// A campaign that is ready to start: target deployed, folders open, corpus loaded.
pub struct PreparedCampaign {
    start: CampaignOptions,
    scene: ReproducerScene,
    /// Corpus folder; `None` if nothing is stored.
    corpus_dir: Option<PathBuf>,
    is_paused: bool,
}

impl PreparedCampaign {
    /// Creates the output folders and loads the corpus.
    pub fn new(
        notices: &dyn NoticeSink,
        plan: &CampaignPlan,
        subject: &DeployedTarget,
    ) -> Result<Self> {
        let CampaignPlan { settings, .. } = plan;
        coverage_report::create_report_folder(settings)?;
        let corpus = settings.corpus_dir.as_deref().map(CampaignCorpus::open).transpose()?;
        if corpus.is_some() {
            plan.fork.save_record(settings, notices);
        }
        let sequences = match &corpus {
            Some(corpus) => corpus.load_sequences(notices, &subject.target)?,
            None => Vec::new(),
        };
        // Foundry's rules add to what the user set.
        let settings = &subject.target.settings;
        let scene = ReproducerScene::from_source(
            SceneSource {
                target: &subject.target,
                contract: subject.contract,
                is_bundled: subject.is_bundled,
            },
            settings,
        );
        let recorder: Box<dyn CampaignRecorder> = match corpus {
            Some(CampaignCorpus { folder }) => Box::new(CorpusRecorder::new(folder, scene.clone())),
            None => Box::new(()),
        };
        let start = CampaignOptions {
            dictionary: ValueDictionary::from_target(&subject.target, settings),
            target: subject.target.clone(),
            settings: settings.clone(),
            workers: plan.workers,
            corpus: sequences,
            commands: Vec::new(),
            recorder,
        };
        Ok(Self { start, scene, corpus_dir: settings.corpus_dir.clone(), is_paused: false })
    }

    /// Replays the commands of an earlier run, each in its original round.
    pub fn with_commands(mut self, commands: Vec<(u64, CampaignCommand)>) -> Self {
        self.start.commands = commands;
        self
    }

    /// Sets whether the campaign starts paused, until it is resumed.
    pub fn with_paused(mut self, is_paused: bool) -> Self {
        self.is_paused = is_paused;
        self
    }

    /// Starts the workers.
    pub fn start(self) -> Result<Campaign> {
        let started = match self.is_paused {
            true => Campaign::start_paused(self.start),
            false => Campaign::start(self.start),
        };
        started
            .explain("failed to start the campaign threads")
            .hint("use fewer workers: run `vouch fuzz --workers 1`")
    }

    /// Starts the workers on a campaign slot, where agents can watch and steer.
    ///
    /// The agents' commands are logged in the corpus folder.
    pub fn start_on_slot(self, seat: &CampaignSlot) -> Result<Campaign> {
        let log = match &self.corpus_dir {
            Some(folder) => {
                let failed = format!("failed to open the command log in {}", folder.display());
                let log = CommandLog::open(folder).explain(&failed)?;
                let again = log.append_replayed_commands(&self.start.commands, &self.start.target);
                again.explain(&failed)?;
                log
            }
            None => CommandLog::disabled(),
        };
        let (scene, output) = (Some(self.scene.clone()), self.corpus_dir.clone());
        let campaign = self.start()?;
        seat.set_live(LiveCampaign { shared: Arc::clone(campaign.shared()), output, scene, log });
        Ok(campaign)
    }
}
