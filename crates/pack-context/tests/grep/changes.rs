//! A search with a running index returns the same results as one without, after any change.

use std::fs;

use pack_context::ContextPack;
use serde_json::json;

use crate::{Project, call, tool};

/// A pack with a complete index.
struct IndexedPack<'a> {
    project: &'a Project,
    pack: ContextPack,
}

impl<'a> IndexedPack<'a> {
    fn new(project: &'a Project) -> Self {
        let pack = project.open();
        pack.start();
        assert!(pack.index().run_to_completion(&|_| (), &|| false));
        Self { project, pack }
    }

    /// Returns the number of lines with the needle, after checking that a search without an index agrees.
    #[track_caller]
    fn count_needles(&self) -> u64 {
        let arguments = json!({"pattern": "needle"});
        let with = call(&*tool(&self.pack), arguments.clone()).unwrap();
        assert_eq!(with, call(&*tool(&self.project.open()), arguments).unwrap());
        with["totalMatches"].as_u64().unwrap()
    }
}

/// Guides are read for discoveries even if grep must not search them.
#[test]
fn respects_ignore_rules_for_always_listed_files() {
    let project = Project::new();
    project.write(".github/CONTRIBUTING.md", "needle\n");
    let running = IndexedPack::new(&project);
    let found = || running.count_needles();
    assert_eq!(found(), 0);
    project.write(".ignore", "!.github/\n");
    assert_eq!(found(), 1);
    fs::remove_file(project.path(".ignore")).unwrap();
    assert_eq!(found(), 0);
}

/// The file is too large for the index but must still be searched.
#[test]
fn searches_files_too_large_to_index() {
    let project = Project::new();
    let long = "x".repeat(79) + "\n";
    let long = long.repeat(65_536);
    project.write("long.txt", format!("{long}needle\n"));
    let running = IndexedPack::new(&project);
    let found = || running.count_needles();
    assert_eq!(found(), 1);
    project.write("long.txt", &long);
    assert_eq!(found(), 0);
    project.write("long.txt", format!("needle\n{long}needle\n"));
    assert_eq!(found(), 2);
}
