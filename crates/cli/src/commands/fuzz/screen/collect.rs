//! Builds the [`ScreenModel`] of a running campaign without blocking its workers.
//!
//! Shared state is copied. Derived values that are expensive (branch counts, source locations) are recomputed only if
//! their input changed.

mod describe;
mod history;
mod outcomes;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use ::fuzz::campaign::{CampaignEventKind, CampaignState, CoverageHits, coverage_report};
use contract::text::one_line;

use super::model::{
    AgentCommandRow, CampaignPhase, EventRow, ScreenModel, WorkerActivity, WorkerRow,
};
use super::view::ScreenView;
use history::CampaignHistory;
use outcomes::TestCollector;

/// Maximum events in the model; more do not fit on any screen.
const MAX_EVENTS: usize = 200;
/// Maximum agent commands in the model.
const MAX_COMMANDS: usize = 50;

/// Builds models of one campaign and caches what is expensive to compute.
pub(super) struct ModelCollector {
    title: String,
    /// URL at which agents reach the campaign.
    agents: Option<String>,
    began: Instant,
    /// `began` on the clock that events are stamped with.
    began_at: SystemTime,
    history: CampaignHistory,
    outcomes: TestCollector,
    hits: Vec<Arc<CoverageHits>>,
    branches: usize,
    /// End reason of each worker that has ended.
    ended: Vec<Option<String>>,
}

impl ModelCollector {
    pub(super) fn new(title: String, agents: Option<String>) -> Self {
        Self {
            title,
            agents,
            began: Instant::now(),
            began_at: SystemTime::now(),
            history: CampaignHistory::default(),
            outcomes: TestCollector::default(),
            hits: Vec::new(),
            branches: 0,
            ended: Vec::new(),
        }
    }

    /// Returns the model of the current state.
    pub(super) fn build_model(&mut self, shared: &CampaignState, view: &ScreenView) -> ScreenModel {
        let elapsed = self.began.elapsed();
        let calls = shared.calls();
        self.count_branches(shared);
        self.history.record_totals(elapsed, calls, self.branches);
        let state = match (shared.is_stopped(), shared.is_paused()) {
            (true, _) => CampaignPhase::Stopping,
            (false, true) => CampaignPhase::Paused,
            (false, false) => CampaignPhase::Running,
        };
        let (tests, reproducer, shrinking) = self.outcomes.collect_rows(shared, view);
        // Before the workers, because it records which of them have ended.
        let events = self.collect_events(shared);
        ScreenModel {
            title: self.title.clone(),
            state,
            elapsed,
            calls,
            limit: shared.settings.test_limit,
            rate: self.history.rate(),
            branches: self.branches,
            corpus: shared.corpus_sequences(),
            history: self.history.points().to_vec(),
            tests,
            reproducer,
            workers: self.collect_workers(shared, &shrinking, state),
            events,
            agents: self.agents.clone(),
            commands: collect_commands(shared),
            trouble: describe_trouble(shared),
        }
    }

    /// Recounts the branches if a worker published new hits, which is rare.
    fn count_branches(&mut self, shared: &CampaignState) {
        let hits = shared.hits();
        let is_same = hits.len() == self.hits.len()
            && hits.iter().zip(&self.hits).all(|(new, old)| Arc::ptr_eq(new, old));
        if !is_same {
            self.branches = coverage_report::count_branches(&hits);
            self.hits = hits;
        }
    }

    fn collect_events(&mut self, shared: &CampaignState) -> Vec<EventRow> {
        self.ended.resize(shared.worker_count(), None);
        let events = shared.events.last_events(MAX_EVENTS);
        for event in &events {
            if let CampaignEventKind::WorkerStopped { reason } = &event.kind {
                self.ended[event.worker].get_or_insert_with(|| one_line(reason));
            }
        }
        // Sampled calls are published for agents. Here they would push out more relevant events.
        let is_sample = |what: &CampaignEventKind| {
            matches!(what, CampaignEventKind::TransactionExecuted { is_injected: false, .. })
        };
        let rows = events.iter().filter(|event| !is_sample(&event.kind)).map(|event| EventRow {
            at: event.time.duration_since(self.began_at).unwrap_or(Duration::ZERO),
            worker: event.worker,
            text: one_line(&describe::describe_event(&event.kind, &shared.target)),
        });
        rows.collect()
    }

    fn collect_workers(
        &self,
        shared: &CampaignState,
        shrinking: &[usize],
        state: CampaignPhase,
    ) -> Vec<WorkerRow> {
        let calls = shared.calls_by_worker();
        let all = calls.into_iter().zip(shared.rounds()).enumerate();
        let rows = all.map(|(id, (calls, round))| {
            let activity = match (self.ended.get(id).cloned().flatten(), state) {
                (Some(reason), _) => WorkerActivity::Ended(reason),
                (None, CampaignPhase::Paused) => WorkerActivity::Paused,
                (None, _) if shrinking.contains(&id) => WorkerActivity::Shrinking,
                (None, _) => WorkerActivity::Fuzzing,
            };
            WorkerRow { calls, round, activity }
        });
        rows.collect()
    }
}

fn collect_commands(shared: &CampaignState) -> Vec<AgentCommandRow> {
    let commands = shared.last_commands(MAX_COMMANDS).into_iter();
    let rows = commands.map(|(round, command)| AgentCommandRow {
        round,
        text: one_line(&describe::describe_command(&command, &shared.target)),
    });
    rows.collect()
}

fn describe_trouble(shared: &CampaignState) -> Option<String> {
    let trouble = shared.recorder_error()?;
    Some(one_line(&format!("failed to save results: {trouble}")))
}

#[cfg(test)]
mod tests {
    use ::fuzz::campaign::{Campaign, CampaignCommand, CampaignOptions, SequenceInjection};
    use ::fuzz::config::CampaignSettings;
    use ::fuzz::generate::ValueDictionary;
    use ::fuzz::script;
    use alloy_primitives::U256;

    use super::*;
    use crate::commands::fuzz::screen::model::TestProgress;
    use app::campaign::demo;

    /// Runs a campaign on the demo with three agent commands to its end.
    fn run_demo_campaign() -> Arc<CampaignState> {
        let settings =
            CampaignSettings { seed: Some(1), test_limit: 20_000, ..CampaignSettings::default() };
        let build = demo::load_demo_build().map_err(|failure| failure.to_one_line()).unwrap();
        let target = ::fuzz::deploy::deploy_target(Arc::new(build), 0, &settings).unwrap();
        let withdraw = target.find_function("withdraw(uint256)", None).unwrap();
        let injection = SequenceInjection {
            steps: vec![script::parse_call("fee()", &target).unwrap()],
            sender: settings.senders[0],
            value: U256::ZERO,
        };
        let settings = Arc::new(settings);
        let campaign = Campaign::start(CampaignOptions {
            dictionary: ValueDictionary::from_target(&target, &settings),
            target: Arc::new(target),
            settings,
            workers: 2,
            corpus: Vec::new(),
            commands: vec![
                (1, CampaignCommand::Inject(injection)),
                (2, CampaignCommand::Prioritize(withdraw)),
                (3, CampaignCommand::ClearPriorities),
            ],
            recorder: Box::new(()),
        });
        let campaign = campaign.unwrap();
        let shared = Arc::clone(campaign.shared());
        campaign.wait();
        shared
    }

    fn describe_outcome(outcome: &TestProgress) -> &'static str {
        match outcome {
            TestProgress::NotBroken(verdict) if verdict.starts_with("not broken in ") => {
                "not broken"
            }
            TestProgress::Falsified => "falsified",
            _ => "another outcome",
        }
    }

    #[test]
    fn collects_tests_commands_workers_and_events() {
        let shared = run_demo_campaign();
        let model = ModelCollector::new("Vault".to_owned(), None)
            .build_model(&shared, &ScreenView::default());
        let outcomes: Vec<_> =
            model.tests.iter().map(|test| (describe_outcome(&test.outcome), test.calls)).collect();
        assert_eq!(outcomes, [("not broken", 0), ("falsified", 2)]);
        // The failed test is selected, so these are its calls.
        assert!(model.reproducer[0].starts_with("deposit(1)  from: 0x"), "{:?}", model.reproducer);
        assert_eq!((model.failed_count(), model.reproducer.len()), (1, 2));
        let commands: Vec<_> =
            model.commands.iter().map(|it| format!("{} {}", it.round, it.text)).collect();
        assert_eq!(
            commands,
            [
                "3 clear priorities",
                "2 prioritize Vault.withdraw(uint256)",
                "1 inject 1 call: fee()"
            ]
        );
        let reason = "the call limit was reached".to_owned();
        for worker in &model.workers {
            assert_eq!(worker.activity, WorkerActivity::Ended(reason.clone()));
            assert!(worker.calls > 0);
        }
        assert_eq!(model.workers.len(), 2);
        assert_eq!(model.calls, model.workers.iter().map(|worker| worker.calls).sum::<u64>());
        assert!(model.branches > 0 && model.corpus > 0 && model.calls >= model.limit);
        let has_event = |text: &str| model.events.iter().any(|event| event.text.contains(text));
        assert!(has_event("ended: the call limit was reached") && has_event("shrunk: 2 calls"));
    }

    #[test]
    fn reports_paused_and_stopping_states() {
        let shared = run_demo_campaign();
        let state = |shared| {
            ModelCollector::new(String::new(), None)
                .build_model(shared, &ScreenView::default())
                .state
        };
        assert_eq!(state(&shared), CampaignPhase::Running);
        shared.pause();
        assert_eq!(state(&shared), CampaignPhase::Paused);
        shared.stop();
        assert_eq!(state(&shared), CampaignPhase::Stopping);
    }
}
