//! Progress of a campaign as text: a status line on terminals only. Failures are printed at once everywhere.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use ::fuzz::campaign::{CampaignState, FailureSite, coverage_report};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::ui::print_warning;
use crate::ui::{self, ERROR, Ui};

/// Interval between updates of the line. Counting branches slows the workers down a little.
const PERIOD: Duration = Duration::from_millis(250);

/// Prints failures, write errors and the status line of a campaign.
pub(super) struct ProgressReporter {
    ui: Ui,
    line: Option<ProgressBar>,
    began: Instant,
    updated: Option<Instant>,
    failed: HashSet<(usize, FailureSite)>,
    has_warned: bool,
}

impl ProgressReporter {
    /// Creates a reporter; `has_line` is false if the full-screen view shows the status instead.
    pub(super) fn new(ui: Ui, has_line: bool) -> Self {
        let line = (has_line && !ui.is_quiet() && ui::is_stderr_terminal()).then(|| {
            let style = ProgressStyle::with_template("{spinner} {msg}");
            let style = style.expect("the template is a valid constant");
            let target = ProgressDrawTarget::stderr();
            let line = ProgressBar::with_draw_target(None, target).with_style(style);
            line.enable_steady_tick(Duration::from_millis(100));
            line
        });
        Self {
            ui,
            line,
            began: Instant::now(),
            updated: None,
            failed: HashSet::new(),
            has_warned: false,
        }
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Prints new failures and updates the status line if it is due.
    pub(super) fn report_progress(&mut self, shared: &CampaignState) {
        self.report_failures(shared);
        self.report_trouble(shared);
        let is_due = self.updated.is_none_or(|updated| updated.elapsed() >= PERIOD);
        if let Some(line) = self.line.as_ref().filter(|_| is_due) {
            line.set_message(self.format_status(shared));
            self.updated = Some(Instant::now());
        }
    }

    pub(super) fn print_note(&self, text: &str) {
        self.print_above(|ui| ui.print_note(text));
    }

    pub(super) fn clear_line(self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }

    fn report_failures(&mut self, shared: &CampaignState) {
        for failure in shared.failures() {
            if self.failed.insert((failure.test, failure.site)) {
                let name = contract::text::one_line(&shared.target.tests[failure.test].name);
                let calls = match failure.found.len() {
                    1 => "1 call".to_owned(),
                    count => format!("{count} calls"),
                };
                self.print_above(|ui| {
                    ui.print_note(format_args!("{ERROR}failed:{ERROR:#} {name} after {calls}"));
                });
            }
        }
    }

    /// Warns that results cannot be saved, once per campaign.
    fn report_trouble(&mut self, shared: &CampaignState) {
        if let Some(trouble) = shared.recorder_error().filter(|_| !self.has_warned) {
            self.has_warned = true;
            self.print_above(|ui| {
                print_warning(ui, format_args!("failed to save results: {trouble}"))
            });
        }
    }

    /// Prints above the status line, which is redrawn.
    fn print_above(&self, print: impl FnOnce(Ui)) {
        match &self.line {
            Some(line) => line.suspend(|| print(self.ui)),
            None => print(self.ui),
        }
    }

    /// Returns the text of the status line.
    fn format_status(&self, shared: &CampaignState) -> String {
        let calls = shared.calls();
        let limit = shared.settings.test_limit;
        let rate = u128::from(calls) * 1000 / self.elapsed().as_millis().max(1);
        let branches = coverage_report::count_branches(&shared.hits());
        let (corpus, failed, tests) =
            (shared.corpus_sequences(), self.failed.len(), shared.target.tests.len());
        format!(
            "{calls} of {limit} calls, {rate}/s · {branches} branches · corpus {corpus} · {failed} of {tests} tests failed"
        )
    }
}
