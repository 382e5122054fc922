//! Which tests fail in the course of a sequence.

use std::sync::Arc;

use ::fuzz::call::Call;
use ::fuzz::campaign::{Campaign, Failure, Start};
use ::fuzz::config::Settings;
use ::fuzz::generate::Dictionary;
use ::fuzz::target::Target;
use ::fuzz::trace::Done;
use alloy_primitives::I256;

use crate::commands::fuzz::{site, unsupported};
use crate::report::{Explain, Result};

pub(super) struct Judged {
    /// In the order in which they fail.
    pub(super) broken: Vec<Broken>,
    /// Tests that look for a large number, and the largest on the way.
    pub(super) reached: Vec<(String, I256)>,
}

/// A test that fails.
pub(super) struct Broken {
    pub(super) test: usize,
    /// How many calls it takes.
    pub(super) after: usize,
    pub(super) name: String,
    pub(super) place: Option<String>,
    /// What it does then, if it is a call of its own.
    pub(super) done: Option<Done>,
}

/// Lets a campaign that makes no calls of its own run the sequence: it judges as it does while it fuzzes.
pub(super) fn judge(calls: &[Call], target: &Arc<Target>, settings: &Settings) -> Result<Judged> {
    let settings = Arc::new(Settings { test_limit: 0, shrink_limit: 0, ..settings.clone() });
    let campaign = Campaign::start(Start {
        target: target.clone(),
        dictionary: Dictionary::of(target, &settings),
        settings,
        workers: 1,
        corpus: vec![calls.to_vec()],
        commands: Vec::new(),
        recorder: Box::new(()),
    });
    let campaign = campaign.explain("cannot start a thread for the replay")?;
    let shared = Arc::clone(campaign.shared());
    let summary = campaign.wait();
    if let Some(cheat) = shared.unsupported() {
        return Err(unsupported("nobody can say which tests fail", cheat));
    }
    let mut broken: Vec<_> = summary.failures.iter().map(|it| of(it, target)).collect();
    broken.sort_by_key(|broken| broken.after);
    let reached = summary.best.iter();
    let reached = reached.map(|best| (target.tests[best.test].name.clone(), best.value));
    Ok(Judged { broken, reached: reached.collect() })
}

fn of(failure: &Failure, target: &Target) -> Broken {
    Broken {
        test: failure.test,
        after: failure.found.len(),
        name: target.tests[failure.test].name.clone(),
        place: site::line(target, failure.site),
        done: None,
    }
}
