//! Where the tests stand.

use std::collections::HashMap;

use ::fuzz::call::Call;
use ::fuzz::campaign::{Best, Failure, Shared, Site};
use ::fuzz::reproducer::solidity;
use ::fuzz::target::TestKind;
use contract::text::one_line;

use crate::commands::fuzz::results::is_repeated;
use crate::commands::fuzz::screen::model::{Outcome, Test};
use crate::commands::fuzz::screen::view::View;
use crate::commands::fuzz::site;

/// Lines of a reproducer that are shown; before it is small it may have thousands.
const MAX_LINES: usize = 500;

#[derive(Default)]
pub(super) struct Outcomes {
    /// Looking a place up in the maps of the compiler takes long.
    places: HashMap<Site, Option<String>>,
}

/// A row of the panel, and the calls behind it.
type Row = (Test, Vec<Call>);

impl Outcomes {
    /// All tests, the calls of the one that is looked at, and the workers that make failures smaller.
    pub(super) fn look(
        &mut self,
        shared: &Shared,
        view: &View,
    ) -> (Vec<Test>, Vec<String>, Vec<usize>) {
        let failures = shared.failures();
        let best = shared.best();
        let mut rows = Vec::new();
        let mut shrinking = Vec::new();
        for test in 0..shared.target.tests.len() {
            let failed = failures.iter();
            let failed: Vec<_> =
                failed.filter(|it| it.test == test && !is_repeated(it, &failures)).collect();
            shrinking.extend(failed.iter().filter(|it| !it.is_shrunk).map(|it| it.worker));
            if failed.is_empty() {
                rows.push(unbroken(shared, test, best.iter().find(|best| best.test == test)));
            }
            rows.extend(failed.into_iter().map(|failure| self.failed(shared, failure)));
        }
        let (tests, mut calls): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let selected = view.selected(&tests);
        let calls = if selected < calls.len() { calls.swap_remove(selected) } else { Vec::new() };
        (tests, lines(&calls, shared), shrinking)
    }

    fn failed(&mut self, shared: &Shared, failure: &Failure) -> Row {
        let target = &shared.target;
        let place = self.places.entry(failure.site);
        let place = place.or_insert_with(|| site::line(target, failure.site)).clone();
        let test = Test {
            name: one_line(&target.tests[failure.test].name),
            place: place.map(|place| one_line(&place)),
            outcome: if failure.is_shrunk { Outcome::Falsified } else { Outcome::Shrinking },
            calls: failure.calls.len(),
        };
        (test, failure.calls.clone())
    }
}

fn unbroken(shared: &Shared, test: usize, best: Option<&Best>) -> Row {
    let test = &shared.target.tests[test];
    let outcome = match test.kind {
        TestKind::Maximum { .. } => Outcome::Best(best.map(|best| best.value.to_string())),
        _ => Outcome::Passing,
    };
    let calls = best.map(|best| best.calls.clone()).unwrap_or_default();
    (Test { name: one_line(&test.name), place: None, outcome, calls: calls.len() }, calls)
}

fn lines(calls: &[Call], shared: &Shared) -> Vec<String> {
    let shown = calls.iter().take(MAX_LINES);
    let mut lines: Vec<_> =
        shown.map(|call| one_line(&solidity::line(call, &shared.target))).collect();
    if calls.len() > MAX_LINES {
        lines.push(format!("… and {} calls more", calls.len() - MAX_LINES));
    }
    lines
}
