//! Invalid paths and arguments, unreadable files and files that are not text.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;
use test_rights::run_unprivileged;

use crate::{Project, render_response};

const MEGABYTE: usize = 1_048_576;

#[test]
fn rejects_invalid_paths() {
    let project = Project::new(&[("src/a.ts", ""), (".env", "KEY=1"), ("node_modules/x/i.js", "")]);
    fs::write(project.folder.path().join("outside.ts"), "").unwrap();
    symlink("../outside.ts", project.path("out.ts")).unwrap();
    symlink("round", project.path("round")).unwrap();
    symlink(".env", project.path("hidden.ts")).unwrap();
    let paths = [
        "invalid/path.ts",
        ".env",
        ".git/config",
        "node_modules/x/i.js",
        "../outside.ts",
        "/etc/passwd",
        "out.ts",
        "round",
        "hidden.ts",
        "src",
        "src/",
        ".",
        "a\u{0}b",
    ];
    let answers = paths.map(|path| format!("{path:?}: {}", render_response(project.read(path))));
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn rejects_invalid_arguments() {
    let project = Project::new(&[("a.ts", "")]);
    let answers = [
        json!({}),
        json!({"path": ""}),
        json!({"path": "a.ts", "maxDepth": 2}),
        json!({"path": "a.ts", "maxDepth": 0.5}),
        json!({"path": "a.ts", "includeDeps": "yes"}),
        json!({"path": "a.ts", "more": 1}),
    ]
    .map(|arguments| format!("{arguments}: {}", render_response(project.call(arguments.clone()))));
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn rejects_oversized_files() {
    let project = Project::new(&[]);
    project.write("fits.txt", "x".repeat(MEGABYTE));
    project.write("over.txt", "x".repeat(MEGABYTE + 1));
    assert_eq!(project.read("fits.txt").unwrap()["file"]["size"], MEGABYTE);
    insta::assert_snapshot!(render_response(project.read("over.txt")));
}

#[test]
fn rejects_files_that_are_not_utf8() {
    let project = Project::new(&[]);
    project.write("latin.ts", b"const caf\xe9 = 1;\n");
    insta::assert_snapshot!(render_response(project.read("latin.ts")));
}

#[test]
fn reads_single_line_of_900_kilobytes() {
    let project = Project::new(&[("b.js", "")]);
    let line = format!("require('./b');{}", "var a=function(b){return b+1};".repeat(30_000));
    project.write("bundle.js", &line);
    let answer = project.read_with_dependencies("bundle.js").unwrap();
    assert_eq!(answer["file"]["size"], line.len());
    assert_eq!(answer["file"]["lines"], 1);
    assert_eq!(answer["dependencies"][0]["path"], "b.js");
}

/// Partly parsable files return the imports found; a fully unparsable file is an error only with dependencies.
#[test]
fn reports_syntax_errors() {
    let project = Project::new(&[
        ("partial.ts", "import './b';\n\nconst = ;\nimport './c';\n"),
        ("total.py", "This is (((( not a program, is it?\n"),
        ("b.ts", ""),
        ("c.ts", ""),
        ("empty.ts", ""),
    ]);
    let answers = ["partial.ts", "total.py", "empty.ts"]
        .map(|path| format!("{path}: {}", render_response(project.read_with_dependencies(path))));
    insta::assert_snapshot!(answers.join("\n"));
    assert_eq!(project.read("total.py").unwrap()["file"]["lines"], 1);
}

/// A read returns one consistent state of the file, or reports that it does not exist.
#[test]
fn reads_files_that_grow_and_vanish_concurrently() {
    let project = Project::new(&[("a.ts", "import './b';\n"), ("b.ts", "")]);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..200 {
                project.write("b.ts", "// more\n".repeat(round * 100));
                fs::remove_file(project.path("b.ts")).unwrap();
            }
        });
        while !writer.is_finished() {
            let answer = project.read_with_dependencies("a.ts").unwrap();
            let dependencies = answer["dependencies"].as_array().unwrap();
            assert_eq!(dependencies.len() + answer["unresolved"].as_array().unwrap().len(), 1);
            if let Err(error) = project.read("b.ts") {
                assert!(["NOT_FOUND", "TOO_LARGE"].contains(&error.code.as_str()), "{error}");
            }
        }
    });
}

#[test]
fn reports_permission_denied_for_unreadable_folder() {
    let project = Project::new(&[
        ("a.ts", "import './closed/b';\nimport './c';\n"),
        ("closed/b.ts", ""),
        ("c.ts", ""),
    ]);
    let closed = project.path("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let (read, with_dependencies) = run_unprivileged(|| {
        (project.read("closed/b.ts"), project.read_with_dependencies("a.ts").unwrap())
    });
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(read.unwrap_err().message, "Permission denied");
    assert_eq!(with_dependencies["unresolved"][0]["specifier"], "./closed/b");
}
