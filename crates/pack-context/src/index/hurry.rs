//! While the index is built, the files that a question names go first: their paths share words with it.
//!
//! On a big project this is the difference between an answer at once and one after the whole of it was read.

use std::collections::HashMap;

use rank::{Query, terms};

use super::Index;
use super::state::SourceId;

/// Files that one question moves to the front: about a tenth of a second of work.
const AT_MOST: usize = 100;

impl Index {
    /// Puts the waiting files that the question names before all others, and says which they are.
    pub(crate) fn hurry(&self, question: &str) -> Vec<SourceId> {
        let query = Query::new(question);
        let asked: Vec<u32> = query.terms().iter().map(|term| term.hash).collect();
        let named = self.named(&asked);
        self.core.work.hurry(&named);
        named
    }

    /// The files that hold most of these words in their paths, where a rare word counts more.
    fn named(&self, asked: &[u32]) -> Vec<SourceId> {
        let state = self.core.state();
        let mut shared: Vec<(SourceId, Vec<u32>)> = Vec::new();
        let mut holders: HashMap<u32, usize> = HashMap::new();
        for (id, _, file) in state.files().filter(|(id, _, _)| self.core.work.is_waiting(*id)) {
            let mut words = Vec::new();
            terms::each(&file.path, |term| {
                if asked.contains(&term.hash) && !words.contains(&term.hash) {
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
        named.into_iter().take(AT_MOST).map(|(_, id)| id).collect()
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

    /// A project whose files are listed, and which nobody reads but the test.
    fn listed(files: &[&str]) -> (TempDir, ContextPack) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in files {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "fn f() {}\n").unwrap();
        }
        let state = StateDir::open(root.join(".vouch")).unwrap();
        let pack = ContextPack::open(root, &state, ContextOptions::default()).unwrap();
        assert!(pack.index().threads.begin());
        pack.index().keeper.settle();
        (folder, pack)
    }

    #[test]
    fn an_answer_waits_for_what_another_is_reading() {
        let (_folder, pack) = listed(&["src/lift.rs"]);
        let index = pack.index();
        let taken = index.core.work.take().unwrap();
        let (answered, answer) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| answered.send(index.refresh("lift", &|| false)));
            // It takes as long as the other takes.
            assert!(answer.recv_timeout(Duration::from_millis(200)).is_err());
            index.core.look_at(taken.id);
            drop(taken);
            let fresh = answer.recv().unwrap();
            assert_eq!((fresh.done, fresh.all), (1, 1));
        });
    }

    #[test]
    fn what_the_question_names_is_looked_at_first() {
        let (_folder, pack) =
            listed(&["src/cable.rs", "src/lift.rs", "src/lifts/gondola.rs", "src/zoo.rs"]);
        let index = pack.index();

        let named = index.hurry("how do gondolas lift people");
        let path = |id| index.core.state().source(id).unwrap().path().unwrap().to_owned();
        let paths: Vec<String> = named.iter().map(|id| path(*id)).collect();
        // Both words are in the first.
        assert_eq!(paths, ["src/lifts/gondola.rs", "src/lift.rs"]);

        assert!(!index.core.work.are_done(&named));
        let mut order = Vec::new();
        while let Some(taken) = index.core.work.take() {
            order.push(path(taken.id));
        }
        order[..2].sort();
        assert_eq!(order[..2], ["src/lift.rs", "src/lifts/gondola.rs"]);
        assert_eq!(order.len(), 4, "{order:?}");
        assert!(index.core.work.are_done(&named));
    }
}
