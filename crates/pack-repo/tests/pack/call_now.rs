//! `call_now`: returns the same output as `call`, and `None` where only `call` can decide.

use std::fs::{self, File};
use std::io::IoSliceMut;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use contract::{ErrorCode, ToolError, ToolOutput};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use serde_json::{Value, json};

use crate::{TestRepo, test_context};

/// Largest file that `call_now` answers.
const LIMIT: usize = 65_536;

fn create_repository() -> TestRepo {
    let repo = TestRepo::new();
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

fn read_now(repo: &TestRepo, path: &str, encoding: &str) -> Option<Result<ToolOutput, ToolError>> {
    let arguments = json!({"path": path, "encoding": encoding});
    repo.tool("read_repo_file").call_now(&arguments, &test_context())
}

/// Returns whether the file system supports non-blocking reads; if not, `call_now` never answers.
fn supports_nonblocking_reads(repo: &TestRepo) -> bool {
    let file = File::open(repo.path("README.md")).unwrap();
    let read = preadv2(&file, &mut [IoSliceMut::new(&mut [0])], 0, ReadWriteFlags::NOWAIT);
    read != Err(Errno::OPNOTSUPP)
}

#[test]
fn cached_files_get_the_same_output_from_call_now_and_call() {
    let repo = create_repository();
    if !supports_nonblocking_reads(&repo) {
        let test = "call_now::cached_files_get_the_same_output_from_call_now_and_call";
        test_rights::record_skip(test, "the file system has no non-blocking reads");
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
            let slow = repo.tool("read_repo_file").call(arguments, &test_context());
            // The kernel may evict cached pages at any time, though rarely this often.
            let fast = (0..100).find_map(|_| read_now(&repo, path, encoding));
            let fast = fast.unwrap_or_else(|| panic!("call_now does not answer {path}"));
            let text = |outcome: &Result<ToolOutput, ToolError>| match outcome {
                Ok(output) => output.structured.as_ref().map(Value::to_string),
                Err(_) => None,
            };
            assert_eq!(text(&fast), text(&slow), "{path} {encoding}");
            assert_eq!(fast, slow, "{path} {encoding}");
        }
    }
}

#[test]
fn call_now_skips_links_special_files_and_denied_names() {
    let repo = create_repository();
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
        assert_eq!(read_now(&repo, path, "base64"), None, "{path:?}");
    }
    assert_eq!(read_now(&repo, "README.md", "latin1"), None, "invalid arguments");
}

#[test]
fn hello_always_answers_call_now() {
    let repo = TestRepo::new();
    let hello = repo.tool("hello");
    let answer = hello.call_now(&json!({"name": "Learner"}), &test_context()).unwrap().unwrap();
    assert_eq!(answer.structured.unwrap()["message"], "Hello, Learner!");
    let error = hello.call_now(&json!({"name": 7}), &test_context()).unwrap().unwrap_err();
    assert_eq!(error.code, ErrorCode::InternalError);
}

/// Both read paths use the page cache; there is no second cache that could be stale.
#[test]
fn call_now_returns_the_newest_content() {
    let repo = create_repository();
    for round in 0..100 {
        let content = format!("round {round}");
        repo.write("README.md", &content);
        if let Some(answer) = read_now(&repo, "README.md", "utf-8") {
            assert_eq!(answer.unwrap().structured.unwrap()["content"], content);
        }
    }
}

#[test]
fn write_memory_entry_never_answers_call_now() {
    let repo = TestRepo::new();
    let arguments = json!({"file": "decisions.jsonl", "entry": "1"});
    assert_eq!(repo.tool("write_memory_entry").call_now(&arguments, &test_context()), None);
    assert!(!repo.path(".claude").exists(), "nothing was written");
}
