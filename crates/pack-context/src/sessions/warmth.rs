//! How warm a file is: read often and lately, by anyone, or close to such a file.
//!
//! The counts of all files are in memory, taken from the store when first asked for and kept up with what other
//! processes record. Ranking asks for the few warmest and their neighbours at once.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use store::context::FileAccess;

use super::Kept;

/// So many reads are half as warm as can be: one read counts a little, the tenth hardly more than the ninth.
const HALF_WARM: f64 = 3.0;
/// Neighbours are taken into account of so many files.
const WARMEST: usize = 24;
/// A neighbour is at most so warm, of the file it is a neighbour of.
const NEIGHBOUR: f32 = 0.5;
/// Files that were read in the same sessions are neighbours as well; these many of each.
const TOGETHER: usize = 8;

pub(crate) struct Warmth {
    kept: Arc<Kept>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// What the store counted last, as far as it was read.
    activity: i64,
    files: HashMap<String, FileAccess>,
}

impl Warmth {
    pub(super) fn new(kept: Arc<Kept>) -> Self {
        Self { kept, known: Mutex::default() }
    }

    /// A read that is on its way to the store, taken into account at once.
    pub(super) fn read(&self, path: &str, at: Timestamp, session: &str) {
        let mut known = self.known.lock();
        match known.files.get_mut(path) {
            Some(access) => access.read_again(at, session),
            None => {
                let access = FileAccess::first(path.to_owned(), at, session.to_owned());
                known.files.insert(path.to_owned(), access);
            }
        }
    }

    /// Takes in what this and other processes recorded since. Some microseconds where that is nothing.
    pub(crate) fn refresh(&self) {
        let mut known = self.known.lock();
        let news = self.kept.ask(|store| {
            let activity = store.activity()?;
            let changed = match activity == known.activity {
                true => Vec::new(),
                false => store.accesses_since(known.activity)?,
            };
            Ok((activity, changed))
        });
        if let Some((activity, changed)) = news {
            known.activity = activity;
            known.files.extend(changed.into_iter().map(|access| (access.path.clone(), access)));
        }
    }

    /// The warmest files, warmest first.
    pub(crate) fn warmest(&self, limit: usize, now: Timestamp) -> Vec<(FileAccess, f32)> {
        let known = self.known.lock();
        let mut files: Vec<_> =
            known.files.values().map(|access| (access, degree(access, now))).collect();
        files.sort_by(|(a, warm_a), (b, warm_b)| {
            warm_b.total_cmp(warm_a).then_with(|| a.path.cmp(&b.path))
        });
        files.truncate(limit);
        files.into_iter().map(|(access, warmth)| (access.clone(), warmth)).collect()
    }

    /// The warmest files and those close to them: what they import and what imports them, as `imports` tells, and what
    /// was read in the same sessions.
    pub(crate) fn around(
        &self,
        now: Timestamp,
        imports: impl Fn(&str) -> Vec<String>,
    ) -> HashMap<String, f32> {
        let warmest = self.warmest(WARMEST, now);
        let mut warm: HashMap<String, f32> = HashMap::new();
        let mut add = |path: String, degree: f32| {
            let known = warm.entry(path).or_default();
            *known = known.max(degree);
        };
        for (access, degree) in warmest {
            let together = self.kept.ask(|store| store.read_together(&access.path, TOGETHER));
            let together = together.unwrap_or_default();
            // Who is in all the sessions is as close as an import, who is in one of many is not.
            let most = together.first().map_or(1, |(_, sessions)| *sessions).max(1);
            for (path, sessions) in together {
                #[expect(clippy::cast_precision_loss, reason = "there are few sessions")]
                let share = sessions as f32 / most as f32;
                add(path, degree * NEIGHBOUR * share);
            }
            for path in imports(&access.path) {
                add(path, degree * NEIGHBOUR);
            }
            add(access.path, degree);
        }
        warm
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a degree between 0 and 1")]
fn degree(access: &FileAccess, now: Timestamp) -> f32 {
    let heat = access.heat_at(now);
    (heat / (heat + HALF_WARM)) as f32
}
