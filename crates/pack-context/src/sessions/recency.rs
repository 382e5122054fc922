//! Recency scores of files: high for files read often and recently by any caller, and for their neighbors.
//!
//! The counts of all files are in memory, loaded from the store on first use and updated with the events of other
//! processes. Ranking asks only for the top files and their neighbors.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use store::context::FileAccess;

use super::LazyContextStore;

/// Heat at which a file reaches half of the maximum score.
///
/// One read counts a little; the tenth adds hardly more than the ninth.
const HALF_SCORE_HEAT: f64 = 3.0;
/// Number of top files whose neighbors are scored.
const MAX_TOP_FILES: usize = 24;
/// Maximum score of a neighbor, as a share of the file's score.
const NEIGHBOR_WEIGHT: f32 = 0.5;
/// Maximum neighbors of a file that were read in the same sessions.
const MAX_READ_TOGETHER: usize = 8;

/// Recency scores of the files of one project.
pub(crate) struct FileRecency {
    store: Arc<LazyContextStore>,
    state: Mutex<RecencyState>,
}

#[derive(Default)]
struct RecencyState {
    /// Activity counter of the store at the last refresh.
    activity: i64,
    files: HashMap<String, FileAccess>,
}

impl FileRecency {
    pub(super) fn new(store: Arc<LazyContextStore>) -> Self {
        Self { store, state: Mutex::default() }
    }

    /// Counts a read immediately, before it is written to the store.
    pub(super) fn record_read(&self, path: &str, at: Timestamp, session: &str) {
        let mut state = self.state.lock();
        match state.files.get_mut(path) {
            Some(access) => access.add_read(at, session),
            None => {
                let access = FileAccess::from_first_read(path.to_owned(), at, session.to_owned());
                state.files.insert(path.to_owned(), access);
            }
        }
    }

    /// Loads the events that this and other processes recorded since the last refresh.
    ///
    /// Takes a few microseconds if nothing changed.
    pub(crate) fn refresh(&self) {
        let mut state = self.state.lock();
        let update = self.store.with_existing_store(|store| {
            let activity = store.activity_generation()?;
            let changed = match activity == state.activity {
                true => Vec::new(),
                false => store.list_accesses_since(state.activity)?,
            };
            Ok((activity, changed))
        });
        if let Some((activity, changed)) = update {
            state.activity = activity;
            state.files.extend(changed.into_iter().map(|access| (access.path.clone(), access)));
        }
    }

    /// Returns the files with the highest scores, best first.
    pub(crate) fn top_files(&self, limit: usize, now: Timestamp) -> Vec<(FileAccess, f32)> {
        let state = self.state.lock();
        let mut files: Vec<_> =
            state.files.values().map(|access| (access, recency_score(access, now))).collect();
        files.sort_by(|(a, score_a), (b, score_b)| {
            score_b.total_cmp(score_a).then_with(|| a.path.cmp(&b.path))
        });
        files.truncate(limit);
        files.into_iter().map(|(access, score)| (access.clone(), score)).collect()
    }

    /// Returns the scores of the top files and their neighbors, by path.
    ///
    /// Neighbors are the files that `imports` returns (imported or importing) and files read in the same sessions.
    pub(crate) fn scores_with_neighbors(
        &self,
        now: Timestamp,
        imports: impl Fn(&str) -> Vec<String>,
    ) -> HashMap<String, f32> {
        let top_files = self.top_files(MAX_TOP_FILES, now);
        let mut scores: HashMap<String, f32> = HashMap::new();
        let mut add = |path: String, score: f32| {
            let best = scores.entry(path).or_default();
            *best = best.max(score);
        };
        for (access, score) in top_files {
            let together = self.store.with_existing_store(|store| {
                store.list_files_read_together(&access.path, MAX_READ_TOGETHER)
            });
            let together = together.unwrap_or_default();
            // A file read in all of the sessions counts as much as an import.
            let most = together.first().map_or(1, |(_, sessions)| *sessions).max(1);
            for (path, sessions) in together {
                #[expect(clippy::cast_precision_loss, reason = "session counts are small")]
                let share = sessions as f32 / most as f32;
                add(path, score * NEIGHBOR_WEIGHT * share);
            }
            for path in imports(&access.path) {
                add(path, score * NEIGHBOR_WEIGHT);
            }
            add(access.path, score);
        }
        scores
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a score between 0 and 1")]
fn recency_score(access: &FileAccess, now: Timestamp) -> f32 {
    let heat = access.heat_at(now);
    (heat / (heat + HALF_SCORE_HEAT)) as f32
}
