//! How far a campaign is: one line on a terminal, nothing elsewhere. What fails is told at once, wherever.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use ::fuzz::campaign::{Shared, Site, cover};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::ui::warn;
use crate::ui::{self, ERROR, Ui};

/// Between two states of the line: counting branches costs the workers a little.
const PERIOD: Duration = Duration::from_millis(250);

pub(super) struct Reporter {
    ui: Ui,
    line: Option<ProgressBar>,
    began: Instant,
    shown: Option<Instant>,
    failed: HashSet<(usize, Site)>,
    has_told_trouble: bool,
}

impl Reporter {
    /// Without a line, if something else says how far it is.
    pub(super) fn new(ui: Ui, has_line: bool) -> Self {
        let line = (has_line && !ui.is_quiet() && ui::err_is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{spinner} {msg}");
            let style = style.expect("the template is ours and well-formed");
            let target = ProgressDrawTarget::stderr();
            let line = ProgressBar::with_draw_target(None, target).with_style(style);
            line.enable_steady_tick(Duration::from_millis(100));
            line
        });
        Self {
            ui,
            line,
            began: Instant::now(),
            shown: None,
            failed: HashSet::new(),
            has_told_trouble: false,
        }
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn show(&mut self, shared: &Shared) {
        self.tell_failures(shared);
        self.tell_trouble(shared);
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= PERIOD);
        if let Some(line) = self.line.as_ref().filter(|_| is_due) {
            line.set_message(self.state(shared));
            self.shown = Some(Instant::now());
        }
    }

    pub(super) fn note(&self, text: &str) {
        self.above(|ui| ui.note(text));
    }

    pub(super) fn end(self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }

    fn tell_failures(&mut self, shared: &Shared) {
        for failure in shared.failures() {
            if self.failed.insert((failure.test, failure.site)) {
                let name = contract::text::one_line(&shared.target.tests[failure.test].name);
                let calls = match failure.found.len() {
                    1 => "1 call".to_owned(),
                    count => format!("{count} calls"),
                };
                self.above(|ui| {
                    ui.note(format_args!("{ERROR}failed:{ERROR:#} {name} after {calls}"));
                });
            }
        }
    }

    /// A full disk stays full; once is enough.
    fn tell_trouble(&mut self, shared: &Shared) {
        if let Some(trouble) = shared.trouble().filter(|_| !self.has_told_trouble) {
            self.has_told_trouble = true;
            self.above(|ui| warn(ui, format_args!("what is found cannot be kept: {trouble}")));
        }
    }

    /// Prints above the line, which is drawn again.
    fn above(&self, print: impl FnOnce(Ui)) {
        match &self.line {
            Some(line) => line.suspend(|| print(self.ui)),
            None => print(self.ui),
        }
    }

    fn state(&self, shared: &Shared) -> String {
        let calls = shared.calls();
        let limit = shared.settings.test_limit;
        let rate = u128::from(calls) * 1000 / self.elapsed().as_millis().max(1);
        let branches = cover::branches(&shared.hits());
        let (corpus, failed, tests) =
            (shared.corpus_size(), self.failed.len(), shared.target.tests.len());
        format!(
            "{calls} of {limit} calls, {rate}/s · {branches} branches · corpus {corpus} · {failed} failed of {tests}"
        )
    }
}
