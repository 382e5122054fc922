//! Makes the model of a running campaign. Workers wait for none of this: what they show is copied, and what costs more than
//! a copy (branches of all code, places in the source) is counted only when it changed.

mod history;
mod outcomes;
mod tell;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use ::fuzz::campaign::{Happening, Hits, Shared, cover};
use contract::text::one_line;

use super::model::{Doing, Event, Given, Model, State, Worker};
use super::view::View;
use history::History;
use outcomes::Outcomes;

/// Events that are looked at; more do not fit on any screen.
const MAX_EVENTS: usize = 200;
/// Commands that are shown.
const MAX_COMMANDS: usize = 50;

pub(super) struct Collector {
    title: String,
    /// Where agents reach the campaign.
    agents: Option<String>,
    began: Instant,
    /// The same moment on the clock that events have.
    began_at: SystemTime,
    history: History,
    outcomes: Outcomes,
    hits: Vec<Arc<Hits>>,
    branches: usize,
    /// Why workers ended, of those that have.
    ended: Vec<Option<String>>,
}

impl Collector {
    pub(super) fn new(title: String, agents: Option<String>) -> Self {
        Self {
            title,
            agents,
            began: Instant::now(),
            began_at: SystemTime::now(),
            history: History::default(),
            outcomes: Outcomes::default(),
            hits: Vec::new(),
            branches: 0,
            ended: Vec::new(),
        }
    }

    pub(super) fn look(&mut self, shared: &Shared, view: &View) -> Model {
        let elapsed = self.began.elapsed();
        let calls = shared.calls();
        self.count_branches(shared);
        self.history.add(elapsed, calls, self.branches);
        let state = match (shared.is_stopped(), shared.is_paused()) {
            (true, _) => State::Stopping,
            (false, true) => State::Paused,
            (false, false) => State::Running,
        };
        let (tests, reproducer, shrinking) = self.outcomes.look(shared, view);
        // Before the workers: it is what tells that one has ended.
        let events = self.events(shared);
        Model {
            title: self.title.clone(),
            state,
            elapsed,
            calls,
            limit: shared.settings.test_limit,
            rate: self.history.rate(),
            branches: self.branches,
            corpus: shared.corpus_size(),
            history: self.history.points().to_vec(),
            tests,
            reproducer,
            workers: self.workers(shared, &shrinking, state),
            events,
            agents: self.agents.clone(),
            commands: commands(shared),
            trouble: trouble(shared),
        }
    }

    /// Most of the time no worker has shown anything since the last look.
    fn count_branches(&mut self, shared: &Shared) {
        let hits = shared.hits();
        let is_same = hits.len() == self.hits.len()
            && hits.iter().zip(&self.hits).all(|(new, old)| Arc::ptr_eq(new, old));
        if !is_same {
            self.branches = cover::branches(&hits);
            self.hits = hits;
        }
    }

    fn events(&mut self, shared: &Shared) -> Vec<Event> {
        self.ended.resize(shared.workers(), None);
        let events = shared.events.last(MAX_EVENTS);
        for event in &events {
            if let Happening::WorkerStopped { reason } = &event.what {
                self.ended[event.worker].get_or_insert_with(|| one_line(reason));
            }
        }
        // Calls that workers show now and then are a sample for those who ask, and would push out what is worth seeing.
        let is_sample = |what: &Happening| {
            matches!(what, Happening::TransactionExecuted { is_injected: false, .. })
        };
        let told = events.iter().filter(|event| !is_sample(&event.what)).map(|event| Event {
            at: event.time.duration_since(self.began_at).unwrap_or(Duration::ZERO),
            worker: event.worker,
            text: one_line(&tell::event(&event.what, &shared.target)),
        });
        told.collect()
    }

    fn workers(&self, shared: &Shared, shrinking: &[usize], state: State) -> Vec<Worker> {
        let calls = shared.calls_by_worker();
        let all = calls.into_iter().zip(shared.rounds()).enumerate();
        let told = all.map(|(id, (calls, round))| {
            let doing = match (self.ended.get(id).cloned().flatten(), state) {
                (Some(reason), _) => Doing::Ended(reason),
                (None, State::Paused) => Doing::Paused,
                (None, _) if shrinking.contains(&id) => Doing::Shrinking,
                (None, _) => Doing::Fuzzing,
            };
            Worker { calls, round, doing }
        });
        told.collect()
    }
}

fn commands(shared: &Shared) -> Vec<Given> {
    let commands = shared.last_commands(MAX_COMMANDS).into_iter();
    let told = commands.map(|(round, command)| Given {
        round,
        text: one_line(&tell::command(&command, &shared.target)),
    });
    told.collect()
}

fn trouble(shared: &Shared) -> Option<String> {
    let trouble = shared.trouble()?;
    Some(one_line(&format!("what is found cannot be kept: {trouble}")))
}

#[cfg(test)]
mod tests {
    use ::fuzz::campaign::{Campaign, Command, Injection, Start};
    use ::fuzz::config::Settings;
    use ::fuzz::generate::Dictionary;
    use ::fuzz::script;
    use alloy_primitives::U256;

    use super::*;
    use crate::commands::fuzz::screen::model::Outcome;
    use app::campaign::demo;

    /// A campaign on the demo that was told something and is over.
    fn over() -> Arc<Shared> {
        let settings = Settings { seed: Some(1), test_limit: 20_000, ..Settings::default() };
        let build = demo::build().map_err(|failure| failure.one_line()).unwrap();
        let target = ::fuzz::deploy::deploy(Arc::new(build), 0, &settings).unwrap();
        let withdraw = target.find("withdraw(uint256)", None).unwrap();
        let injection = Injection {
            steps: vec![script::read("fee()", &target).unwrap()],
            sender: settings.senders[0],
            value: U256::ZERO,
        };
        let settings = Arc::new(settings);
        let campaign = Campaign::start(Start {
            dictionary: Dictionary::of(&target, &settings),
            target: Arc::new(target),
            settings,
            workers: 2,
            corpus: Vec::new(),
            commands: vec![
                (1, Command::Inject(injection)),
                (2, Command::Prioritize(withdraw)),
                (3, Command::ClearPriorities),
            ],
            recorder: Box::new(()),
        });
        let campaign = campaign.unwrap();
        let shared = Arc::clone(campaign.shared());
        campaign.wait();
        shared
    }

    #[test]
    fn a_campaign_shows_all_that_there_is() {
        let shared = over();
        let model = Collector::new("Vault".to_owned(), None).look(&shared, &View::default());
        let outcomes: Vec<_> =
            model.tests.iter().map(|test| (test.outcome.clone(), test.calls)).collect();
        assert_eq!(outcomes, [(Outcome::Passing, 0), (Outcome::Falsified, 2)]);
        // Those of the test that failed, which is the one that is looked at.
        assert!(model.reproducer[0].starts_with("deposit(1)  from: 0x"), "{:?}", model.reproducer);
        assert_eq!((model.failed(), model.reproducer.len()), (1, 2));
        let commands: Vec<_> =
            model.commands.iter().map(|it| format!("{} {}", it.round, it.text)).collect();
        assert_eq!(
            commands,
            [
                "3 clear the priorities",
                "2 prioritize Vault.withdraw(uint256)",
                "1 inject 1 call: fee()"
            ]
        );
        let reason = "the limit of calls is reached".to_owned();
        for worker in &model.workers {
            assert_eq!(worker.doing, Doing::Ended(reason.clone()));
            assert!(worker.calls > 0);
        }
        assert_eq!(model.workers.len(), 2);
        assert_eq!(model.calls, model.workers.iter().map(|worker| worker.calls).sum::<u64>());
        assert!(model.branches > 0 && model.corpus > 0 && model.calls >= model.limit);
        let told = |text: &str| model.events.iter().any(|event| event.text.contains(text));
        assert!(told("ended: the limit of calls is reached") && told("made small: 2 calls"));
    }

    #[test]
    fn a_pause_and_an_end_are_seen() {
        let shared = over();
        let state =
            |shared| Collector::new(String::new(), None).look(shared, &View::default()).state;
        assert_eq!(state(&shared), State::Running);
        shared.pause();
        assert_eq!(state(&shared), State::Paused);
        shared.stop();
        assert_eq!(state(&shared), State::Stopping);
    }
}
