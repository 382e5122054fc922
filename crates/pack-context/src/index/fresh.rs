//! What a call does before it answers: sees to it that the answer knows of what was written before the question.

use std::time::{Duration, Instant};

use super::Index;
use super::state::SourceId;
use crate::Phase;

/// Changes that are not taken in by then are said to be pending.
const FOR_CHANGES: Duration = Duration::from_millis(400);
/// While the index is built, an answer comes as soon as the files that the question names are taken in, but not before
/// this: so long nobody minds, and every file helps.
const FOR_BUILDING: Duration = Duration::from_millis(150);
/// Somebody who asks once and leaves waits for a better answer, as does whoever would get none.
const FOR_THE_FIRST: Duration = Duration::from_millis(3_500);
/// How long their vectors are waited for; without one a discovery is found by its words.
const FOR_WRITTEN: Duration = Duration::from_millis(1_000);
/// New discoveries that are embedded before the answer; more than somebody writes between two questions.
const EMBEDDED_AT_ONCE: usize = 8;

/// How much of the project an answer knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Freshness {
    pub(crate) phase: Phase,
    /// Files that the answer knows of, out of all.
    pub(crate) done: usize,
    pub(crate) all: usize,
}

impl Index {
    /// Takes in what has changed, within bounds.
    pub(crate) fn refresh(
        &self,
        question: &str,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Freshness {
        let asked_once = self.begin();
        self.keeper.settle();
        let began = Instant::now();
        match self.keeper.phase() {
            Phase::Ready => self.take_in(began + FOR_CHANGES, cancelled),
            Phase::Idle | Phase::Building => {
                let named = self.hurry(question);
                if asked_once {
                    self.take_in(began + FOR_THE_FIRST, cancelled);
                } else {
                    self.take_in_named(&named, began, cancelled);
                }
            }
        }
        self.records.refresh(&self.core);
        if asked_once {
            self.records.wait(began + FOR_THE_FIRST);
            self.recall(began + FOR_THE_FIRST);
        }
        self.embed_what_was_written();
        let (all, pending) = (self.core.state().file_count(), self.core.work.len());
        Freshness { phase: self.keeper.phase(), done: all.saturating_sub(pending), all }
    }

    /// Looks at all files that wait, until then.
    fn take_in(&self, until: Instant, cancelled: &(dyn Fn() -> bool + Sync)) {
        self.keeper.help(&|| cancelled() || Instant::now() >= until);
        self.core.work.wait_until_done(until);
    }

    /// Looks at files until these are done and there is something to answer from.
    fn take_in_named(
        &self,
        named: &[SourceId],
        began: Instant,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) {
        self.keeper.help(&|| {
            let waited = began.elapsed();
            let enough = || self.core.work.are_done(named) && !self.is_empty();
            cancelled() || waited >= FOR_THE_FIRST || waited >= FOR_BUILDING && enough()
        });
        // Nothing waits any more, but others may still be at a file.
        if self.core.work.waiting() == 0 {
            self.core.work.wait_until_done(began + FOR_THE_FIRST);
        }
    }

    /// Puts in the vectors that were made before this process began, until then.
    fn recall(&self, until: Instant) {
        if let Some(embedding) = &self.embedding
            && self.keeper.is_ready()
        {
            embedding.recall(&|| Instant::now() >= until);
        }
    }

    fn embed_what_was_written(&self) {
        let mut written = self.core.take_written();
        let Some(embedding) = &self.embedding else { return };
        // The rest is for the background.
        written.truncate(EMBEDDED_AT_ONCE);
        if !written.is_empty() {
            embedding.embed_within(written, FOR_WRITTEN);
        }
    }
}
