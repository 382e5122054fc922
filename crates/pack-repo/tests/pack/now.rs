//! Answers on the spot: the same as the slow way's, and none where the slow way must look closer.

use std::fs::{self, File};
use std::io::IoSliceMut;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use contract::{Code, Output, ToolError};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use serde_json::{Value, json};

use crate::{Repo, context};

/// The largest file that is answered on the spot.
const LIMIT: usize = 65_536;

fn repository() -> Repo {
    let repo = Repo::new();
    repo.write("README.md", "caf\u{e9} \"quoted\"\n\u{1}");
    repo.write("docs/deep/note.md", "nested");
    repo.write("empty.txt", "");
    repo.write("latin1.txt", b"caf\xe9");
    repo.write("limit.txt", vec![b'x'; LIMIT]);
    repo.write("over.txt", vec![b'x'; LIMIT + 1]);
    repo.write(".env", "denied");
    repo.write(".git/config", "denied");
    repo
}

fn now(repo: &Repo, path: &str, encoding: &str) -> Option<Result<Output, ToolError>> {
    let arguments = json!({"path": path, "encoding": encoding});
    repo.tool("read_repo_file").call_now(&arguments, &context())
}

/// Some file systems have no reads without waiting, and there everything goes the slow way.
fn has_reads_without_waiting(repo: &Repo) -> bool {
    let file = File::open(repo.path("README.md")).unwrap();
    let read = preadv2(&file, &mut [IoSliceMut::new(&mut [0])], 0, ReadWriteFlags::NOWAIT);
    read != Err(Errno::OPNOTSUPP)
}

#[test]
fn a_file_in_memory_is_answered_as_the_slow_way_does() {
    let repo = repository();
    if !has_reads_without_waiting(&repo) {
        return;
    }
    for path in [
        "README.md",
        "./README.md",
        "docs/deep/note.md",
        "./docs//deep/./note.md",
        "empty.txt",
        "latin1.txt",
        "limit.txt",
    ] {
        for encoding in ["utf-8", "base64"] {
            let arguments = json!({"path": path, "encoding": encoding});
            let slow = repo.tool("read_repo_file").call(arguments, &context());
            // The kernel may drop what it holds at any time, though hardly so often.
            let fast = (0..100).find_map(|_| now(&repo, path, encoding));
            let fast = fast.unwrap_or_else(|| panic!("{path} is not answered on the spot"));
            let text = |outcome: &Result<Output, ToolError>| match outcome {
                Ok(output) => output.structured.as_ref().map(Value::to_string),
                Err(_) => None,
            };
            assert_eq!(text(&fast), text(&slow), "{path} {encoding}");
            assert_eq!(fast, slow, "{path} {encoding}");
        }
    }
}

#[test]
fn what_needs_a_closer_look_is_not_answered_on_the_spot() {
    let repo = repository();
    fs::write(repo.outside("outside.txt"), "outside").unwrap();
    let absolute = repo.path("README.md");
    for (target, name) in [
        ("README.md", "link-in"),
        ("docs", "link-folder"),
        (".", "link-root"),
        (absolute.to_str().unwrap(), "link-absolute-in"),
        ("../outside.txt", "link-out"),
        ("..", "link-folder-out"),
        ("missing.txt", "link-dangling"),
        ("link-loop", "link-loop"),
        (".env", "link-env"),
    ] {
        symlink(target, repo.path(name)).unwrap();
    }
    mknodat(CWD, repo.path("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let _socket = UnixListener::bind(repo.path("socket")).unwrap();
    for path in [
        "link-in",
        "link-folder/deep/note.md",
        "link-root/README.md",
        "link-absolute-in",
        "link-out",
        "link-folder-out/outside.txt",
        "link-dangling",
        "link-loop",
        "link-env",
        "docs",
        "docs/",
        ".",
        "",
        "README.md/",
        "README.md/.",
        "README.md/x",
        "pipe",
        "socket",
        "missing.txt",
        "docs/missing/x",
        ".env",
        ".git/config",
        ".GIT/config",
        "../outside.txt",
        "docs/../README.md",
        absolute.to_str().unwrap(),
        "nul\0byte",
        "over.txt",
    ] {
        assert_eq!(now(&repo, path, "base64"), None, "{path:?}");
    }
    assert_eq!(now(&repo, "README.md", "latin1"), None, "arguments that do not fit");
}

#[test]
fn hello_is_always_answered_on_the_spot() {
    let repo = Repo::new();
    let hello = repo.tool("hello");
    let answer = hello.call_now(&json!({"name": "Learner"}), &context()).unwrap().unwrap();
    assert_eq!(answer.structured.unwrap()["message"], "Hello, Learner!");
    let error = hello.call_now(&json!({"name": 7}), &context()).unwrap().unwrap_err();
    assert_eq!(error.code, Code::InternalError);
}

/// A memory file answers at once with what was stored a moment ago: one cache, not a second one that could be stale.
#[test]
fn an_answer_on_the_spot_is_the_newest() {
    let repo = repository();
    for round in 0..100 {
        let content = format!("round {round}");
        repo.write("README.md", &content);
        if let Some(answer) = now(&repo, "README.md", "utf-8") {
            assert_eq!(answer.unwrap().structured.unwrap()["content"], content);
        }
    }
}

#[test]
fn writing_is_never_answered_on_the_spot() {
    let repo = Repo::new();
    let arguments = json!({"file": "decisions.jsonl", "entry": "1"});
    assert_eq!(repo.tool("write_memory_entry").call_now(&arguments, &context()), None);
    assert!(!repo.path(".claude").exists(), "nothing is written");
}
