//! Prioritizes files whose paths share terms with a query, while the index is being built.
//!
//! On a large project, this gives a useful response at once instead of after the whole project was read.

use std::collections::HashMap;

use rank::{SearchQuery, terms};

use super::Index;
use super::state::SourceId;

/// Maximum files that one query moves to the front: about a tenth of a second of work.
const MAX_PRIORITIZED_FILES: usize = 100;

impl Index {
    /// Moves the waiting files that the query names to the front of the queue, and returns them.
    pub(crate) fn prioritize_named_files(&self, query: &str) -> Vec<SourceId> {
        let query = SearchQuery::new(query);
        let query_terms: Vec<u32> = query.terms().iter().map(|term| term.hash).collect();
        let named = self.find_named_files(&query_terms);
        self.core.queue.prioritize_files(&named);
        named
    }

    /// Returns the waiting files whose paths share the most terms with the query; a rare term weighs more.
    fn find_named_files(&self, query_terms: &[u32]) -> Vec<SourceId> {
        let state = self.core.state();
        let mut shared: Vec<(SourceId, Vec<u32>)> = Vec::new();
        let mut holders: HashMap<u32, usize> = HashMap::new();
        for (id, _, file) in state.files().filter(|(id, _, _)| self.core.queue.is_waiting(*id)) {
            let mut words = Vec::new();
            terms::for_each_term(&file.path, |term| {
                if query_terms.contains(&term.hash) && !words.contains(&term.hash) {
                    words.push(term.hash);
                    *holders.entry(term.hash).or_default() += 1;
                }
            });
            if !words.is_empty() {
                shared.push((id, words));
            }
        }
        let all = state.file_count() as f32;
        let weight = |word: &u32| (1.0 + all / holders[word] as f32).ln();
        let mut named: Vec<(f32, SourceId)> =
            shared.into_iter().map(|(id, words)| (words.iter().map(weight).sum(), id)).collect();
        named.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        named.into_iter().take(MAX_PRIORITIZED_FILES).map(|(_, id)| id).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use store::StateDir;
    use tempfile::TempDir;

    use crate::{ContextOptions, ContextPack};

    /// Opens a project whose files are listed, and analyzed by the test only.
    fn open_listed_project(files: &[&str]) -> (TempDir, ContextPack) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in files {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "fn f() {}\n").unwrap();
        }
        let state = StateDir::open(root.join(".vouch")).unwrap();
        let pack = ContextPack::open(root, &state, ContextOptions::default()).unwrap();
        assert!(pack.index().threads.mark_started());
        pack.index().sync.settle_changes();
        (folder, pack)
    }

    #[test]
    fn refresh_waits_for_a_file_claimed_by_another_thread() {
        let (_folder, pack) = open_listed_project(&["src/lift.rs"]);
        let index = pack.index();
        let taken = index.core.queue.claim_next().unwrap();
        let (answered, answer) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| answered.send(index.refresh_for_query("lift", &|| false)));
            // It does not return while the other thread holds the file.
            assert!(answer.recv_timeout(Duration::from_millis(200)).is_err());
            index.core.index_file(taken.id);
            drop(taken);
            let fresh = answer.recv().unwrap();
            assert_eq!((fresh.done, fresh.all), (1, 1));
        });
    }

    #[test]
    fn analyzes_files_named_by_the_query_first() {
        let (_folder, pack) = open_listed_project(&[
            "src/cable.rs",
            "src/lift.rs",
            "src/lifts/gondola.rs",
            "src/zoo.rs",
        ]);
        let index = pack.index();

        let named = index.prioritize_named_files("how do gondolas lift people");
        let path = |id| index.core.state().source(id).unwrap().path().unwrap().to_owned();
        let paths: Vec<String> = named.iter().map(|id| path(*id)).collect();
        // The first path contains both terms.
        assert_eq!(paths, ["src/lifts/gondola.rs", "src/lift.rs"]);

        assert!(!index.core.queue.are_done(&named));
        let mut order = Vec::new();
        while let Some(taken) = index.core.queue.claim_next() {
            order.push(path(taken.id));
        }
        order[..2].sort();
        assert_eq!(order[..2], ["src/lift.rs", "src/lifts/gondola.rs"]);
        assert_eq!(order.len(), 4, "{order:?}");
        assert!(index.core.queue.are_done(&named));
    }
}
