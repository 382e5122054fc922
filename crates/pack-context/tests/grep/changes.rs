//! A running index answers as a search without one does, whatever has changed.

use std::fs;

use serde_json::json;

use crate::{Project, call, tool};

/// Guides are looked at for discoveries even where grep may not see them.
#[test]
fn rules_over_a_file_that_is_listed_in_any_case() {
    let project = Project::new();
    project.write(".github/CONTRIBUTING.md", "needle\n");
    let pack = project.open();
    pack.start();
    assert!(pack.index().complete(&|_| (), &|| false));
    let running = tool(&pack);
    let found = || {
        let arguments = json!({"pattern": "needle"});
        let with = call(&*running, arguments.clone()).unwrap();
        assert_eq!(with, call(&*tool(&project.open()), arguments).unwrap());
        with["totalMatches"].as_u64().unwrap()
    };
    assert_eq!(found(), 0);
    project.write(".ignore", "!.github/\n");
    assert_eq!(found(), 1);
    fs::remove_file(project.path(".ignore")).unwrap();
    assert_eq!(found(), 0);
}
