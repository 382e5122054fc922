//! Collects the current outcome of each test.

use std::collections::HashMap;

use ::fuzz::call::SequenceCall;
use ::fuzz::campaign::{BestValue, CampaignState, FailureSite, TestFailure, TestVerdict};
use ::fuzz::reproducer::solidity;
use ::fuzz::target::TestKind;
use contract::text::one_line;

use crate::commands::fuzz::failure_location;
use crate::commands::fuzz::results::is_repeated;
use crate::commands::fuzz::screen::model::{TestProgress, TestRow};
use crate::commands::fuzz::screen::view::ScreenView;

/// Maximum lines of a reproducer; it may have thousands before it is shrunk.
const MAX_LINES: usize = 500;

/// Collects test rows and caches the source locations of failures.
#[derive(Default)]
pub(super) struct TestCollector {
    /// Cache, because a lookup in the compiler's source maps is slow.
    locations: HashMap<FailureSite, Option<String>>,
}

/// A row of the panel with the calls of its reproducer.
type RowWithCalls = (TestRow, Vec<SequenceCall>);

impl TestCollector {
    /// Returns all tests, the calls of the selected one, and the ids of the workers that are shrinking failures.
    pub(super) fn collect_rows(
        &mut self,
        shared: &CampaignState,
        view: &ScreenView,
    ) -> (Vec<TestRow>, Vec<String>, Vec<usize>) {
        let failures = shared.failures();
        let best = shared.best();
        let verdicts = shared.verdicts();
        let mut rows = Vec::new();
        let mut shrinking = Vec::new();
        for (test, verdict) in verdicts.iter().enumerate() {
            let failed = failures.iter();
            let failed: Vec<_> =
                failed.filter(|it| it.test == test && !is_repeated(it, &failures)).collect();
            shrinking.extend(failed.iter().filter(|it| !it.is_shrunk).map(|it| it.worker));
            if failed.is_empty() {
                let best = best.iter().find(|best| best.test == test);
                rows.push(build_unbroken_row(shared, test, verdict, best));
            }
            rows.extend(failed.into_iter().map(|failure| self.build_failed_row(shared, failure)));
        }
        let (tests, mut calls): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let selected = view.selected_test(&tests);
        let calls = if selected < calls.len() { calls.swap_remove(selected) } else { Vec::new() };
        (tests, format_calls(&calls, shared), shrinking)
    }

    fn build_failed_row(&mut self, shared: &CampaignState, failure: &TestFailure) -> RowWithCalls {
        let target = &shared.target;
        let location = self.locations.entry(failure.site);
        let location = location
            .or_insert_with(|| failure_location::locate_failure(target, failure.site))
            .clone();
        let test = TestRow {
            name: one_line(&target.tests[failure.test].name),
            location: location.map(|location| one_line(&location)),
            outcome: if failure.is_shrunk {
                TestProgress::Falsified
            } else {
                TestProgress::Shrinking
            },
            calls: failure.calls.len(),
        };
        (test, failure.calls.clone())
    }
}

fn build_unbroken_row(
    shared: &CampaignState,
    test: usize,
    verdict: &TestVerdict,
    best: Option<&BestValue>,
) -> RowWithCalls {
    let test = &shared.target.tests[test];
    let outcome = match (&test.kind, verdict) {
        (TestKind::Maximum { .. }, TestVerdict::Reached { .. } | TestVerdict::NeverCalled) => {
            TestProgress::Best(best.map(|best| best.value.to_string()))
        }
        (_, verdict) if verdict.is_exercised() => TestProgress::NotBroken(describe(verdict)),
        (_, verdict) => TestProgress::NotExercised(describe(verdict)),
    };
    let calls = best.map(|best| best.calls.clone()).unwrap_or_default();
    (TestRow { name: one_line(&test.name), location: None, outcome, calls: calls.len() }, calls)
}

fn describe(verdict: &TestVerdict) -> String {
    one_line(&verdict.to_string())
}

fn format_calls(calls: &[SequenceCall], shared: &CampaignState) -> Vec<String> {
    let shown = calls.iter().take(MAX_LINES);
    let mut lines: Vec<_> =
        shown.map(|call| one_line(&solidity::format_line(call, &shared.target))).collect();
    if calls.len() > MAX_LINES {
        lines.push(format!("… and {} more calls", calls.len() - MAX_LINES));
    }
    lines
}
