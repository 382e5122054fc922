//! Tests of grep: matches, their order and excerpts, and that an index never changes a result.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use tree::FileTree;
use tree::grep::{
    CandidateSource, GrepCandidates, GrepQuery, GrepResults, SearchCancelled, search_files,
};
use tree::trigram::{TrigramCollector, TrigramIndex, TrigramPlan};

use crate::Project;

/// A trigram index of the whole tree.
struct TreeIndex(Mutex<TrigramIndex>);

impl TreeIndex {
    fn build(tree: &FileTree) -> Self {
        let mut collector = TrigramCollector::with_run_threshold(10);
        let mut index = TrigramIndex::default();
        for entry in tree.list_files().entries {
            let content = std::fs::read(tree.root().join(&*entry.path)).unwrap();
            index.insert(&entry.path, collector.collect(&content));
        }
        Self(Mutex::new(index))
    }
}

impl CandidateSource for TreeIndex {
    fn find_candidates(
        &self,
        plan: &TrigramPlan,
        filter: &dyn Fn(&str) -> bool,
    ) -> Option<GrepCandidates> {
        let index = self.0.lock().unwrap();
        let mut candidates = index.find_candidates(plan);
        candidates.retain(|path| filter(path));
        let files = index.paths().filter(|path| filter(path)).count() as u64;
        Some(GrepCandidates { files, candidates, unreadable: 0 })
    }
}

/// Searches with and without an index, and checks that the results are equal.
#[track_caller]
fn find(project: &Project, query: &GrepQuery) -> GrepResults {
    let without = search_files(&project.tree, query, None, &|| false).unwrap();
    let index = TreeIndex::build(&project.tree);
    let with = search_files(&project.tree, query, Some(&index), &|| false).unwrap();
    assert_eq!(with, without, "{query:?}");
    without
}

fn format_results(found: &GrepResults) -> String {
    let mut lines =
        vec![format!("{} in {} files, {} skipped", found.total, found.files, found.skipped)];
    for found in &found.matches {
        lines.push(format!("{}:{}:{}: {:?}", found.file, found.line, found.column, found.text));
        lines.extend(found.before.iter().map(|line| format!("    - {line:?}")));
        lines.extend(found.after.iter().map(|line| format!("    + {line:?}")));
    }
    lines.join("\n")
}

fn query(pattern: &str) -> GrepQuery {
    GrepQuery::new(pattern, false).unwrap()
}

#[test]
fn returns_matches_with_context_in_order() {
    let project = Project::new(&[
        ("a-b.txt", "needle\n"),
        ("a/b.txt", "one\ntwo\nthree NEEDLE\nneedle needle\nfive\nsix\nseven"),
        ("a/empty.txt", ""),
        ("z.txt", "ä€𝄞 needle"),
        ("crlf.txt", "first\r\nsecond needle\r\nthird\r\n"),
    ]);
    insta::assert_snapshot!(format_results(&find(&project, &query("needle"))), @r#"
    5 in 5 files, 0 skipped
    a/b.txt:3:7: "three NEEDLE"
        - "one"
        - "two"
        + "needle needle"
        + "five"
    a/b.txt:4:1: "needle needle"
        - "two"
        - "three NEEDLE"
        + "five"
        + "six"
    a-b.txt:1:1: "needle"
    crlf.txt:2:8: "second needle"
        - "first"
        + "third"
    z.txt:1:5: "ä€𝄞 needle"
    "#);
}

#[test]
fn counts_all_matches_beyond_the_limit() {
    let text: String = (0..1000).map(|line| format!("line {line} of many\n")).collect();
    let files: Vec<_> = (0..20).map(|number| format!("folder{}/{number}", number % 3)).collect();
    let files: Vec<_> = files.iter().map(|path| (path.as_str(), text.as_str())).collect();
    let project = Project::new(&files);
    let found = find(&project, &query("line 9").with_limit(3));
    insta::assert_snapshot!(format_results(&found), @r#"
    2220 in 20 files, 0 skipped
    folder0/0:10:1: "line 9 of many"
        - "line 7 of many"
        - "line 8 of many"
        + "line 10 of many"
        + "line 11 of many"
    folder0/0:91:1: "line 90 of many"
        - "line 88 of many"
        - "line 89 of many"
        + "line 91 of many"
        + "line 92 of many"
    folder0/0:92:1: "line 91 of many"
        - "line 89 of many"
        - "line 90 of many"
        + "line 92 of many"
        + "line 93 of many"
    "#);
}

#[test]
fn searches_encoded_binary_and_long_files() {
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain("ein wört\r\nnoch ein Wort\r\n".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let project = Project::new(&[]);
    project.write("utf16.txt", utf16);
    project.write("bom.txt", "\u{feff}Wort am Anfang");
    project.write("nul.bin", b"Wort davor\nWort, dann\0Wort\nWort danach");
    let late = [&b"Wort\n".repeat(20_000)[..], b"\0\n", &b"Wort\n".repeat(20_000)].concat();
    project.write("nul_late.bin", late);
    project.write("latin1.txt", b"W\xf6rter und Wort\n");
    project.write("long.txt", format!("{}Wort{}", "x".repeat(600_000), "y".repeat(300_000)));
    let found = find(&project, &query("wort"));
    // This equals ripgrep's count: the 64 KiB chunk with the late NUL byte is not searched.
    assert_eq!(found.total, 4 + 13_107);
    let columns: Vec<_> = found
        .matches
        .iter()
        .take(4)
        .map(|found| (found.file.as_str(), found.line, found.column))
        .collect();
    assert_eq!(
        columns,
        [
            ("bom.txt", 1, 1),
            ("latin1.txt", 1, 12),
            ("long.txt", 1, 600_001),
            ("nul_late.bin", 1, 1),
        ]
    );
    assert!(found.matches.iter().all(|found| found.text.chars().count() <= 502));
}

/// Each line is counted once, independent of the files searched before on the same thread.
#[test]
fn long_line_does_not_affect_the_next_file() {
    let long = "x".repeat(200_000);
    let mut files = vec![("long.txt", long.as_str())];
    files.extend(["a", "b", "c", "d", "e", "f"].map(|name| (name, "{\n}\n")));
    let project = Project::new(&files);
    assert_eq!(find(&project, &query("^")).total, 1 + 6 * 2);
}

#[test]
fn filters_files_by_glob() {
    let project = Project::new(&[
        ("a.ts", "x"),
        ("src/b.ts", "x"),
        ("src/server/c.ts", "x"),
        ("src/server/d.js", "x"),
        ("lib/src/e.ts", "x"),
        ("#f.ts", "x"),
        (".gitignore", "lib/src\n"),
    ]);
    let files = |glob: &str| {
        let found = find(&project, &query("x").with_glob(glob).unwrap());
        assert_eq!(found.files, found.total);
        let files: Vec<_> = found.matches.into_iter().map(|found| found.file).collect();
        format!("{glob:18} {}", files.join(" "))
    };
    let globs = [
        "",
        "*.ts",
        "**/*.ts",
        "src/*.ts",
        "src/**/*.ts",
        "./src/*.ts",
        "*.{js,ts}",
        "!*.ts",
        "!src",
        "!server/",
        "src",
        "src/**",
        "[!ab].*",
        "#f.ts",
        "lib/**",
    ];
    insta::assert_snapshot!(globs.map(files).join("\n"));
}

#[test]
fn rejects_invalid_globs() {
    let error = |glob: &str| {
        let error = query("x").with_glob(glob).unwrap_err();
        format!("`{glob}` {error}")
    };
    let globs = ["../*.ts", "src/../../x", "!../x", "{../a,b}", "/etc/*", "[a", "{a", "!", "a**{b"];
    insta::assert_snapshot!(globs.map(error).join("\n"));
    assert!(query("x").with_glob(&"a".repeat(1001)).is_err());
}

#[test]
fn rejects_invalid_patterns() {
    let error = |pattern: &str| {
        let error = GrepQuery::new(pattern, false).unwrap_err();
        format!("`{pattern}` at {:?}: {error}", error.position())
    };
    let patterns = [
        "[invalid(",
        "é(",
        "a{2,1}",
        r"\p{Nope}",
        "*",
        "a\nb",
        r"ab\nc",
        r"[\n]x",
        r"ab\x00",
        r"(\w{500}){500}",
        r"(?<a>x)(?<a>y)",
        "(?=x)",
    ];
    insta::assert_snapshot!(patterns.map(error).join("\n"));
}

#[test]
fn cancelled_search_stops() {
    let files: Vec<_> = (0..200).map(|number| (format!("{number}"), "x")).collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let project = Project::new(&files);
    let index = TreeIndex::build(&project.tree);
    let narrow: [Option<&dyn CandidateSource>; 2] = [None, Some(&index)];
    for narrow in narrow {
        let checks = AtomicUsize::new(0);
        let cancelled = || checks.fetch_add(1, Ordering::Relaxed) > 20;
        assert_eq!(
            search_files(&project.tree, &query("x"), narrow, &cancelled),
            Err(SearchCancelled)
        );
        // Each thread checks at most once more, so no search ran to the end.
        assert!(checks.load(Ordering::Relaxed) < 60);
    }
}

#[test]
fn does_not_follow_cyclic_symlinks() {
    let project = Project::new(&[("a/file", "needle")]);
    std::os::unix::fs::symlink("..", project.root().join("a/up")).unwrap();
    std::os::unix::fs::symlink("me", project.root().join("me")).unwrap();
    std::os::unix::fs::symlink("a/file", project.root().join("again")).unwrap();
    let found = find(&project, &query("needle"));
    assert_eq!((found.total, found.files, found.skipped), (1, 1, 0));
}

/// Texts similar to the patterns below, with characters that are difficult for case folding.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => "[a-fsk]{1,5}",
        3 => "[A-FSK]{1,4}",
        2 => "[ſ\u{212a}éÉσςΣßẞ]{1,2}",
        2 => "[ _.0-9]{1,2}",
        2 => Just("\n".to_owned()),
        1 => Just("\r\n".to_owned()),
    ];
    let piece = prop_oneof![
        20 => piece.prop_map(String::into_bytes),
        1 => prop::sample::select(vec![vec![0xff], vec![0xc5], vec![0xe2, 0x84], vec![0]]),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => "[a-fsk]{1,5}",
        2 => "[A-FSKſ\u{212a}éσß]{1,3}",
        1 => "\\[[a-ek]{1,3}\\]",
        1 => "\\[\\^[a-c]{1,2}\\]",
        1 => prop::sample::select(vec![
            ".", "\\w", "\\s", "\\b", "^", "$", "\\d", "é", "(?-u:\\xc5)", "(?i:k)", "(?-i:S)", "\\.", "",
        ]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 2..4)
                .prop_map(|parts| format!("(?:{})", parts.join("|"))),
            2 => (inner, prop::sample::select(vec!["?", "*", "+", "{2}", "{1,3}", "{0,2}", "{5,}"]))
                .prop_map(|(part, times)| format!("(?:{part}){times}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn index_never_excludes_a_matching_file(
        texts in prop::collection::vec(text(), 1..12),
        patterns in prop::collection::vec((pattern(), any::<bool>()), 1..12),
        long_from in prop::sample::select(vec![0, 10, usize::MAX]),
    ) {
        let mut collector = TrigramCollector::with_run_threshold(long_from);
        for (pattern, case_sensitive) in patterns {
            let Ok(query) = GrepQuery::new(&pattern, case_sensitive) else { continue };
            let mut index = TrigramIndex::default();
            for (number, text) in texts.iter().enumerate() {
                index.insert(&number.to_string(), collector.collect(text));
            }
            let candidates = index.find_candidates(query.plan());
            for (number, text) in texts.iter().enumerate() {
                if query.matches_content(text) {
                    let found = candidates.iter().any(|path| **path == *number.to_string());
                    prop_assert!(found, "{pattern:?} {case_sensitive} {:?}", String::from_utf8_lossy(text));
                }
            }
        }
    }
}
