//! Files with their imports, and the limits on them.

use serde_json::json;

use crate::{Project, render_response};

#[test]
fn reads_file_without_dependencies() {
    let project = Project::new(&[("src/a.ts", "import './b';\nexport {};"), ("src/b.ts", "")]);
    insta::assert_snapshot!(render_response(project.read("./src//a.ts")));
}

#[test]
fn reads_file_with_imports() {
    let project = Project::new(&[
        (
            "src/main.ts",
            "import { b } from './b.js';\nimport type { C } from './c';\nimport express from 'express';\nimport fs from 'node:fs';\n\
             import './gone';\nexport * from './b';\n",
        ),
        ("src/b.ts", "export const b = 1;\n"),
        ("src/c.ts", "import './main';\nexport interface C {}\n"),
        ("package.json", "{\"name\": \"shop\", \"dependencies\": {\"express\": \"5\"}}"),
    ]);
    insta::assert_snapshot!(render_response(project.read_with_dependencies("src/main.ts")));
}

#[test]
fn zero_depth_returns_no_dependencies() {
    let project = Project::new(&[("a.ts", "import './b';"), ("b.ts", "")]);
    let arguments = json!({"path": "a.ts", "includeDeps": true, "maxDepth": 0});
    let answer = project.call(arguments).unwrap();
    assert_eq!(answer["dependencies"], json!([]));
    assert_eq!(answer.get("externals"), None);
}

/// The first call loads the modules without an index; the second is answered immediately.
#[test]
fn module_is_known_from_first_call() {
    let project = Project::new(&[
        ("package.json", "{\"workspaces\": [\"apps/*\"]}"),
        ("apps/web/package.json", "{\"name\": \"storefront\"}"),
        ("apps/web/a.ts", ""),
    ]);
    for _ in 0..2 {
        assert_eq!(project.read("apps/web/a.ts").unwrap()["metadata"]["module"], "storefront");
    }
}

/// Files that import each other, and themselves, are listed once.
#[test]
fn lists_circular_imports_once() {
    let project =
        Project::new(&[("a.py", "import a\nimport b\nfrom b import x\n"), ("b.py", "import a\n")]);
    let answer = project.read_with_dependencies("a.py").unwrap();
    let paths: Vec<_> =
        answer["dependencies"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
    assert_eq!(paths, ["b.py"]);
}

#[test]
fn truncates_long_dependencies() {
    let line = "export const something = 'of some length';\n";
    let project = Project::new(&[("a.ts", "import './big'; import './one-line';")]);
    project.write("big.ts", line.repeat(3000));
    project.write("one-line.ts", "x".repeat(100_000));
    let answer = project.read_with_dependencies("a.ts").unwrap();
    let big = &answer["dependencies"][0];
    let content = big["content"].as_str().unwrap();
    assert!(content.len() <= 64 * 1024 && content.ends_with(";\n"));
    let rest = line.len() * 3000 - content.len();
    assert_eq!(
        big["omitted"],
        format!("the last {rest} bytes, over the limit for one dependency; read the file itself")
    );
    let one_line = &answer["dependencies"][1];
    assert_eq!(one_line.get("content"), None);
    assert!(one_line["omitted"].as_str().unwrap().starts_with("the last 100000 bytes"));
}

#[test]
fn limits_total_dependency_text() {
    let imports: String = (0..300).map(|n| format!("import './m{n}';\n")).collect();
    let project = Project::new(&[("a.ts", &imports)]);
    for n in 0..300 {
        project.write(&format!("m{n}.ts"), "// a comment\n".repeat(1000));
    }
    let answer = project.read_with_dependencies("a.ts").unwrap();
    let dependencies = answer["dependencies"].as_array().unwrap();
    assert_eq!(dependencies.len(), 200);
    let bytes: usize =
        dependencies.iter().filter_map(|one| one.get("content")?.as_str()).map(str::len).sum();
    assert!(bytes <= 256 * 1024 && bytes > 200 * 1024, "{bytes}");
    assert!(dependencies[199]["omitted"].as_str().unwrap().contains("all dependencies"));
    assert_eq!(answer["metadata"]["details"], "100 more dependencies are not listed");
}

/// Each truncated list is reported with the number of omitted entries.
#[test]
fn reports_number_of_unlisted_imports() {
    let lines = |count: usize, line: fn(usize) -> String| (0..count).map(line).collect::<String>();
    let project = Project::new(&[]);
    project.write("packages.js", lines(300, |n| format!("import 'node:m{n}';\n")));
    project.write("gone.ts", lines(300, |n| format!("import './gone{n}';\n")));
    project.write("many.py", lines(2501, |n| format!("from .gone{n} import x\n")));
    project.write("go.mod", "module m\n");
    project.write("main.go", "package main\nimport \"m/wide\"\n");
    for n in 0..150 {
        project.write(&format!("wide/f{n}.go"), "package wide\n");
    }
    let details = |path: &str| {
        let answer = project.read_with_dependencies(path).unwrap();
        answer["metadata"]["details"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(details("packages.js"), "100 more packages are not listed");
    assert_eq!(details("gone.ts"), "100 more unresolved imports are not listed");
    assert_eq!(
        details("many.py"),
        "501 more imports are not listed; 1800 more unresolved imports are not listed"
    );
    let answer = project.read_with_dependencies("main.go").unwrap();
    assert_eq!(answer["dependencies"].as_array().unwrap().len(), 150);
}

/// A dependency that cannot be read does not fail the call.
#[test]
fn omits_dependencies_that_are_not_utf8() {
    let project = Project::new(&[("a.c", "#include \"latin.h\"\n#include \"my-secret.h\"\n")]);
    project.write("latin.h", b"// \xe9\n");
    project.write("my-secret.h", "");
    insta::assert_snapshot!(render_response(project.read_with_dependencies("a.c")));
}
