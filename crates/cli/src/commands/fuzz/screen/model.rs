//! Data of the screen: a snapshot of a campaign in plain values, built by `collect`. All texts are safe for a terminal.

use std::time::Duration;

/// Everything that the screen shows.
#[derive(Clone, Debug, Default)]
pub(super) struct ScreenModel {
    pub(super) title: String,
    pub(super) state: CampaignPhase,
    pub(super) elapsed: Duration,
    pub(super) calls: u64,
    pub(super) limit: u64,
    /// Current calls per second.
    pub(super) rate: u64,
    /// Branch outcomes that were covered.
    pub(super) branches: usize,
    /// Number of sequences in the corpus.
    pub(super) corpus: usize,
    pub(super) history: Vec<HistoryPoint>,
    pub(super) tests: Vec<TestRow>,
    /// Calls of the selected test, truncated.
    pub(super) reproducer: Vec<String>,
    pub(super) workers: Vec<WorkerRow>,
    /// Newest first.
    pub(super) events: Vec<EventRow>,
    /// URL at which agents reach the campaign.
    pub(super) agents: Option<String>,
    /// Commands of agents, newest first.
    pub(super) commands: Vec<AgentCommandRow>,
    /// Error message to show in the footer.
    pub(super) trouble: Option<String>,
}

/// State of the campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CampaignPhase {
    #[default]
    Running,
    Paused,
    /// Fuzzing has stopped; failures are being shrunk.
    Stopping,
}

/// A point of the coverage and speed charts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HistoryPoint {
    pub(super) at: Duration,
    pub(super) branches: usize,
    /// Calls per second since the previous point.
    pub(super) rate: u64,
}

/// A row of the test list. A test that failed at several locations has one row for each.
#[derive(Clone, Debug)]
pub(super) struct TestRow {
    pub(super) name: String,
    /// Location of the failure, as `path:line`.
    pub(super) location: Option<String>,
    pub(super) outcome: TestProgress,
    /// Number of calls needed to fail, or to reach the best value.
    pub(super) calls: usize,
}

/// Current outcome of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TestProgress {
    /// Exercised, and not failed so far; with the verdict in words.
    NotBroken(String),
    /// Nothing is known about it; with the verdict in words.
    NotExercised(String),
    /// Failed; its sequence is being shrunk.
    Shrinking,
    Falsified,
    /// Largest number so far; `None` if there is no number yet.
    Best(Option<String>),
}

impl TestProgress {
    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Self::Shrinking | Self::Falsified)
    }
}

/// A row of the worker list.
#[derive(Clone, Debug)]
pub(super) struct WorkerRow {
    pub(super) calls: u64,
    pub(super) round: u64,
    pub(super) activity: WorkerActivity,
}

/// Current activity of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WorkerActivity {
    Fuzzing,
    /// Fuzzing, and shrinking a failure.
    Shrinking,
    Paused,
    /// Ended, with the reason.
    Ended(String),
}

/// A row of the event list.
#[derive(Clone, Debug)]
pub(super) struct EventRow {
    pub(super) at: Duration,
    pub(super) worker: usize,
    pub(super) text: String,
}

/// A row of the list of agent commands.
#[derive(Clone, Debug)]
pub(super) struct AgentCommandRow {
    /// Round in which it takes effect.
    pub(super) round: u64,
    pub(super) text: String,
}

impl ScreenModel {
    /// Returns the number of failed tests.
    pub(super) fn failed_count(&self) -> usize {
        self.tests.iter().filter(|test| test.outcome.is_failure()).count()
    }
}
