//! A campaign, from what somebody asks for to workers that run: what `vouch fuzz` and `vouch serve` have in common.
//!
//! ```text
//!  echidna.yaml, [fuzz], flags ──► plan ──► subject (compiled, deployed) ──► Prepared ──► workers, on a Seat for agents
//!                                                                               │
//!                                                 corpus, reproducers: keep ◄───┴───► coverage: cover
//! ```
//!
//! Compiling is the work of `solidity`, fuzzing of `fuzz`, steering of `pack_campaign`. What a person sees of it is the work
//! of the commands.

pub mod agents;
mod corpus;
pub mod cover;
pub mod demo;
pub mod plan;
pub mod served;
pub mod subject;

use std::path::PathBuf;
use std::sync::Arc;

use ::fuzz::campaign::{Campaign, Command, Recorder, Start};
use ::fuzz::corpus::CorpusRecorder;
use ::fuzz::generate::Dictionary;
use ::fuzz::reproducer::foundry::{Scene, SceneSource};
use pack_campaign::{CommandLog, Live, Seat};

use crate::context::NoticeSink;
use crate::failure::{Explain, Result};
use corpus::Corpus;
use plan::Plan;
use subject::Subject;

/// All that a campaign needs is there.
pub struct Prepared {
    start: Start,
    scene: Scene,
    /// The folder of the corpus.
    output: Option<PathBuf>,
    is_paused: bool,
}

impl Prepared {
    /// Opens the folders that the campaign will use, and reads its corpus.
    pub fn new(notices: &dyn NoticeSink, plan: &Plan, subject: &Subject) -> Result<Self> {
        let Plan { settings, .. } = plan;
        cover::make_folder(settings)?;
        let corpus = settings.corpus_dir.as_deref().map(Corpus::open).transpose()?;
        let sequences = match &corpus {
            Some(corpus) => corpus.load(notices, &subject.target)?,
            None => Vec::new(),
        };
        let scene = Scene::from_source(
            SceneSource {
                target: &subject.target,
                contract: subject.contract,
                is_bundled: subject.is_bundled,
            },
            settings,
        );
        let recorder: Box<dyn Recorder> = match corpus {
            Some(Corpus { folder }) => Box::new(CorpusRecorder::new(folder, scene.clone())),
            None => Box::new(()),
        };
        let start = Start {
            dictionary: Dictionary::of(&subject.target, settings),
            target: subject.target.clone(),
            settings: settings.clone(),
            workers: plan.workers,
            corpus: sequences,
            commands: Vec::new(),
            recorder,
        };
        Ok(Self { start, scene, output: settings.corpus_dir.clone(), is_paused: false })
    }

    /// Commands of an earlier run are given again, each in the same round.
    pub fn with_commands(mut self, commands: Vec<(u64, Command)>) -> Self {
        self.start.commands = commands;
        self
    }

    /// Whether it waits for somebody who lets it begin.
    pub fn paused(mut self, is_paused: bool) -> Self {
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
            .explain("cannot start the threads of the campaign")
            .hint("try fewer: vouch fuzz --workers 1")
    }

    /// The same where agents can watch and steer. What they do is written down beside the corpus.
    pub fn start_on(self, seat: &Seat) -> Result<Campaign> {
        let log = match &self.output {
            Some(folder) => {
                let failed =
                    format!("cannot keep what agents do in the folder {}", folder.display());
                let log = CommandLog::open(folder).explain(&failed)?;
                let again = log.note_again(&self.start.commands, &self.start.target);
                again.explain(&failed)?;
                log
            }
            None => CommandLog::none(),
        };
        let (scene, output) = (Some(self.scene.clone()), self.output.clone());
        let campaign = self.start()?;
        seat.begin(Live { shared: Arc::clone(campaign.shared()), output, scene, log });
        Ok(campaign)
    }
}
