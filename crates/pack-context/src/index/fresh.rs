//! What a call does before it answers: sees to it that the answer knows of what was written before the question.

use std::time::{Duration, Instant};

use super::Index;
use crate::Phase;

/// Changes that are not taken in by then are said to be pending.
const FOR_CHANGES: Duration = Duration::from_millis(400);
/// A server answers at once from what is there while its index is built.
const FOR_BUILDING: Duration = Duration::from_millis(150);
/// Somebody who asks once and leaves waits for a better answer, as does whoever would get none.
const FOR_THE_FIRST: Duration = Duration::from_millis(3_500);
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
    pub(crate) fn refresh(&self, cancelled: &(dyn Fn() -> bool + Sync)) -> Freshness {
        let asked_once = self.begin();
        self.keeper.settle();
        let empty = self.core.state().len() == 0;
        let patience = match self.keeper.phase() {
            Phase::Ready => FOR_CHANGES,
            Phase::Idle | Phase::Building if asked_once || empty => FOR_THE_FIRST,
            Phase::Idle | Phase::Building => FOR_BUILDING,
        };
        let until = Instant::now() + patience;
        self.keeper.help(&|| cancelled() || Instant::now() >= until);
        self.core.work.wait_until_done(until);
        self.records.refresh(&self.core);
        if asked_once {
            self.records.wait(until);
        }
        self.embed_what_was_written();
        let (all, pending) = (self.core.state().file_count(), self.core.work.len());
        Freshness { phase: self.keeper.phase(), done: all.saturating_sub(pending), all }
    }

    fn embed_what_was_written(&self) {
        let Some(embedding) = &self.embedding else { return };
        let mut written = self.core.take_written();
        // The rest is for the background.
        written.truncate(EMBEDDED_AT_ONCE);
        if !written.is_empty() {
            embedding.embed_now(&written);
        }
    }
}
