//! `dump_lcov`: the text, and where it may be written.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use pack_campaign::{CommandLog, Live, Seat};
use serde_json::json;

use crate::support::{Scene, Setting, call, text};

#[test]
fn the_text_of_the_answer_is_the_tracefile() {
    let scene = Scene::ended();
    let output = call(scene.tool("dump_lcov"), json!({})).unwrap();
    let lcov = text(&output);
    assert!(lcov.starts_with("TN:\nSF:Vault.sol\n"), "{lcov}");
    assert!(lcov.ends_with("end_of_record\n"), "{lcov}");
    assert!(lcov.contains("\nBRDA:") && lcov.contains("\nDA:"), "{lcov}");
    assert_eq!(output.structured, Some(json!({"lcov": lcov})));
}

#[test]
fn files_are_written_whole_below_the_folder() {
    let scene = Scene::ended();
    for path in ["lcov.info", "a/b/lcov.info", "./c.lcov", "lcov.info"] {
        let lcov = scene.ask("dump_lcov", json!({"outputPath": path}))["lcov"].clone();
        let written = fs::read_to_string(scene.folder.path().join(path)).unwrap();
        assert_eq!(lcov, written, "{path}");
    }
    let names = fs::read_dir(scene.folder.path()).unwrap();
    let mut names: Vec<_> =
        names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["a", "c.lcov", "lcov.info", "mcp-commands.jsonl"], "nothing else is left");
}

#[test]
fn a_path_outside_is_denied() {
    let scene = Scene::ended();
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim.info");
    fs::write(&victim, "old").unwrap();
    symlink(outside.path(), scene.folder.path().join("out")).unwrap();
    symlink(&victim, scene.folder.path().join("link.info")).unwrap();
    fs::write(scene.folder.path().join("file"), "").unwrap();
    let absolute = victim.to_str().unwrap();
    let paths = [
        "../victim.info",
        "a/../../victim.info",
        "/etc/lcov.info",
        absolute,
        "out/victim.info",
        "out/new.info",
        "link.info",
        "file/lcov.info",
        "",
        "folder/",
        "a\u{0}b",
        "mcp-commands.jsonl",
        "coverage/1.txt",
        ".vouch-lock",
    ];
    let refusals = paths.map(|path| {
        let refusal = scene.refusal("dump_lcov", json!({"outputPath": path}));
        refusal.replace(absolute, "<outside>/victim.info")
    });
    insta::assert_snapshot!(refusals.join("\n"));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "old");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn without_a_folder_a_path_is_refused_and_the_text_is_not() {
    let campaign = Setting::default().start();
    let shared = Arc::clone(campaign.shared());
    let seat = Arc::new(Seat::new("vault"));
    seat.begin(Live {
        shared: Arc::clone(&shared),
        output: None,
        scene: None,
        log: CommandLog::none(),
    });
    let scene = Scene::of(seat, shared, tempfile::tempdir().unwrap(), campaign);
    let refusal = scene.refusal("dump_lcov", json!({"outputPath": "lcov.info"}));
    assert!(
        refusal.starts_with("INVALID_INPUT: ") && refusal.contains("--corpus-dir DIR"),
        "{refusal}"
    );
    scene.ask("dump_lcov", json!({}));
    scene.ask("inject_transaction", json!({"sequence": ["deposit(1)"]}));
}
