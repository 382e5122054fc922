//! What a project can hold that nobody would put there on purpose.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::as_a_user::as_a_user;
use crate::support::Project;

#[test]
fn an_empty_project_has_no_answer_and_says_what_to_do() {
    let project = Project::new();
    let error = project.open().call("context_search", json!({"query": "anything"})).unwrap_err();
    assert_eq!(error.message, "No embeddings found. Run initial session to generate context.");
    assert_eq!(error.details["fallback"], "Use grep_codebase for text search");
}

#[test]
fn strange_files_do_not_disturb_the_others() {
    let project = Project::shop();
    project.write("binary.bin", [0_u8, 159, 146, 150, 0, 1, 2]);
    project.write("latin1.txt", b"caf\xe9 zanzibar\n");
    project.write("utf16.txt", b"\xff\xfez\0a\0n\0");
    project.write("empty.rs", "");
    project.write("one_line.js", "var a=1;".repeat(110_000));
    project.write("big.txt", "word ".repeat(1_200_000));
    project.write("deep.json", "[".repeat(20_000));
    project.write("broken.rs", "fn )( {{{ struct ;;; impl");
    project.write("nul\u{7f}name.rs", "fn zanzibar() {}");
    std::os::unix::fs::symlink(".", project.path("loop")).unwrap();
    std::os::unix::fs::symlink("/etc", project.path("out")).unwrap();
    let session = project.complete();
    assert_eq!(session.places("total_price")[0], "src/orders/cart.rs");
    assert_eq!(session.search("zanzibar")["results"], json!([]));
}

#[test]
fn a_folder_that_cannot_be_read_is_left_out() {
    let project = Project::shop();
    project.write("closed/a.md", "zanzibar");
    let closed = project.path("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    as_a_user(|| {
        let session = project.complete();
        assert_eq!(session.places("zanzibar"), [""; 0]);
        assert_eq!(session.places("total_price")[0], "src/orders/cart.rs");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(session.places("zanzibar"), ["closed/a.md"]);
    });
}

/// Without a watch the count comes from the listing.
#[test]
fn folders_that_cannot_be_read_are_counted_without_a_watch() {
    let project = Project::shop();
    project.write("closed/a.md", "zanzibar");
    let closed = project.path("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let options = pack_context::ContextOptions { watch: false, ..project.options() };
    let answer = as_a_user(|| {
        let session = project.open_with(options);
        assert!(session.pack.index().complete(&|_| (), &|| false));
        session.call("grep_codebase", serde_json::json!({"pattern": "zanzibar"})).unwrap()
    });
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(answer["skipped"], 1, "{answer}");
}

#[test]
fn a_root_that_is_no_folder_is_named() {
    let project = Project::new();
    project.write("file", "");
    let open = |path: &str, memory: &str| {
        let options =
            pack_context::ContextOptions { memory_folder: memory.into(), ..project.options() };
        let state = store::StateDir::at(project.path(".vouch"));
        let opened = pack_context::ContextPack::open(&project.path(path), &state, options);
        let error = opened.map(drop).unwrap_err().to_string();
        error.replace(&project.folder().display().to_string(), "<folder>")
    };
    insta::assert_snapshot!(
        [
            open("missing", "memory"),
            open("file", "memory"),
            open(".", "../memory"),
            open(".", "/x")
        ]
        .join("\n")
    );
}
