//! A running index answers as a search without one does, whatever has changed.

use std::fs;

use pack_context::ContextPack;
use serde_json::json;

use crate::{Project, call, tool};

/// A pack with its index built.
struct Running<'a> {
    project: &'a Project,
    pack: ContextPack,
}

impl<'a> Running<'a> {
    fn new(project: &'a Project) -> Self {
        let pack = project.open();
        pack.start();
        assert!(pack.index().complete(&|_| (), &|| false));
        Self { project, pack }
    }

    /// How many lines have the needle; a search without an index finds the same.
    #[track_caller]
    fn needles(&self) -> u64 {
        let arguments = json!({"pattern": "needle"});
        let with = call(&*tool(&self.pack), arguments.clone()).unwrap();
        assert_eq!(with, call(&*tool(&self.project.open()), arguments).unwrap());
        with["totalMatches"].as_u64().unwrap()
    }
}

/// Guides are looked at for discoveries even where grep may not see them.
#[test]
fn rules_over_a_file_that_is_listed_in_any_case() {
    let project = Project::new();
    project.write(".github/CONTRIBUTING.md", "needle\n");
    let running = Running::new(&project);
    let found = || running.needles();
    assert_eq!(found(), 0);
    project.write(".ignore", "!.github/\n");
    assert_eq!(found(), 1);
    fs::remove_file(project.path(".ignore")).unwrap();
    assert_eq!(found(), 0);
}

/// Too long to be cut into pieces, not too long to be left out of a search.
#[test]
fn a_file_of_five_megabytes() {
    let project = Project::new();
    let long = "x".repeat(79) + "\n";
    let long = long.repeat(65_536);
    project.write("long.txt", format!("{long}needle\n"));
    let running = Running::new(&project);
    let found = || running.needles();
    assert_eq!(found(), 1);
    project.write("long.txt", &long);
    assert_eq!(found(), 0);
    project.write("long.txt", format!("needle\n{long}needle\n"));
    assert_eq!(found(), 2);
}
