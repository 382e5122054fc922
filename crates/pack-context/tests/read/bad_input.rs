//! Everything that is not a readable text file below the root.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use crate::as_a_user::as_a_user;
use crate::{Project, shown};

const MEGABYTE: usize = 1_048_576;

#[test]
fn paths() {
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
    let answers = paths.map(|path| format!("{path:?}: {}", shown(project.read(path))));
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn arguments() {
    let project = Project::new(&[("a.ts", "")]);
    let answers = [
        json!({}),
        json!({"path": ""}),
        json!({"path": "a.ts", "maxDepth": 2}),
        json!({"path": "a.ts", "maxDepth": 0.5}),
        json!({"path": "a.ts", "includeDeps": "yes"}),
        json!({"path": "a.ts", "more": 1}),
    ]
    .map(|arguments| format!("{arguments}: {}", shown(project.call(arguments.clone()))));
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn size() {
    let project = Project::new(&[]);
    project.write("fits.txt", "x".repeat(MEGABYTE));
    project.write("over.txt", "x".repeat(MEGABYTE + 1));
    assert_eq!(project.read("fits.txt").unwrap()["file"]["size"], MEGABYTE);
    insta::assert_snapshot!(shown(project.read("over.txt")));
}

#[test]
fn text_that_is_none() {
    let project = Project::new(&[]);
    project.write("latin.ts", b"const caf\xe9 = 1;\n");
    insta::assert_snapshot!(shown(project.read("latin.ts")));
}

#[test]
fn one_line_of_900_kilobytes() {
    let project = Project::new(&[("b.js", "")]);
    let line = format!("require('./b');{}", "var a=function(b){return b+1};".repeat(30_000));
    project.write("bundle.js", &line);
    let answer = project.read_with_dependencies("bundle.js").unwrap();
    assert_eq!(answer["file"]["size"], line.len());
    assert_eq!(answer["file"]["lines"], 1);
    assert_eq!(answer["dependencies"][0]["path"], "b.js");
}

/// Part of a text that parses is enough; none of it is an error, though the text itself can still be read.
#[test]
fn syntax_errors() {
    let project = Project::new(&[
        ("partial.ts", "import './b';\n\nconst = ;\nimport './c';\n"),
        ("total.py", "This is (((( not a program, is it?\n"),
        ("b.ts", ""),
        ("c.ts", ""),
        ("empty.ts", ""),
    ]);
    let answers = ["partial.ts", "total.py", "empty.ts"]
        .map(|path| format!("{path}: {}", shown(project.read_with_dependencies(path))));
    insta::assert_snapshot!(answers.join("\n"));
    assert_eq!(project.read("total.py").unwrap()["file"]["lines"], 1);
}

/// Whatever a writer does meanwhile, a read answers with one state of the file, or says that there is none.
#[test]
fn files_that_grow_and_vanish_while_they_are_read() {
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
fn an_unreadable_folder() {
    let project = Project::new(&[
        ("a.ts", "import './closed/b';\nimport './c';\n"),
        ("closed/b.ts", ""),
        ("c.ts", ""),
    ]);
    let closed = project.path("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let (read, with_dependencies) = as_a_user(|| {
        (project.read("closed/b.ts"), project.read_with_dependencies("a.ts").unwrap())
    });
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(read.unwrap_err().message, "Permission denied");
    assert_eq!(with_dependencies["unresolved"][0]["specifier"], "./closed/b");
}
