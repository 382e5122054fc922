//! `dump_lcov`: the text, and the paths that it may be written to.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use pack_campaign::{CampaignSlot, CommandLog, LiveCampaign};
use serde_json::json;

use crate::support::{CampaignSetup, TestCampaign, call_tool, text_content};

#[test]
fn text_content_is_the_tracefile() {
    let scene = TestCampaign::ended();
    let output = call_tool(scene.tool("dump_lcov"), json!({})).unwrap();
    let lcov = text_content(&output);
    assert!(lcov.starts_with("TN:\nSF:Vault.sol\n"), "{lcov}");
    assert!(lcov.ends_with("end_of_record\n"), "{lcov}");
    assert!(lcov.contains("\nBRDA:") && lcov.contains("\nDA:"), "{lcov}");
    assert_eq!(output.structured, Some(json!({"lcov": lcov})));
}

#[test]
fn files_are_written_below_the_corpus_folder() {
    let scene = TestCampaign::ended();
    for path in ["lcov.info", "a/b/lcov.info", "./c.lcov", "lcov.info"] {
        let lcov = scene.call_ok("dump_lcov", json!({"outputPath": path}))["lcov"].clone();
        let written = fs::read_to_string(scene.folder.path().join(path)).unwrap();
        assert_eq!(lcov, written, "{path}");
    }
    let names = fs::read_dir(scene.folder.path()).unwrap();
    let mut names: Vec<_> =
        names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(
        names,
        ["a", "c.lcov", "lcov.info", "mcp-commands.jsonl"],
        "no temporary files remain"
    );
}

#[test]
fn rejects_paths_outside_the_corpus_folder() {
    let scene = TestCampaign::ended();
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
        let refusal = scene.call_err("dump_lcov", json!({"outputPath": path}));
        refusal.replace(absolute, "<outside>/victim.info")
    });
    insta::assert_snapshot!(refusals.join("\n"));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "old");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn names_are_limited_in_bytes() {
    let scene = TestCampaign::ended();
    let name = |text: &str, count: usize| format!("{}.info", text.repeat(count));
    // 255 bytes, the most that file systems allow; the temporary name is short and does not count.
    let long = [name("a", 250), name("é", 125), name("€", 83), format!("{0}/{0}", name("b", 250))];
    for path in long {
        let lcov = scene.call_ok("dump_lcov", json!({"outputPath": path}))["lcov"].clone();
        assert_eq!(lcov, fs::read_to_string(scene.folder.path().join(&path)).unwrap(), "{path}");
    }
    let mut too_long = vec![
        name("a", 300),
        name("a", 251),
        name("é", 126),
        name("😀", 63),
        format!("{}/lcov.info", name("a", 251)),
        format!("a/{}/lcov.info", "b".repeat(4000)),
        // Every name is allowed, but the path is too long.
        format!("{}lcov.info", format!("{}/", "c".repeat(250)).repeat(17)),
    ];
    too_long.push("a/".repeat(3000) + "lcov.info");
    for path in too_long {
        let refusal = scene.call_err("dump_lcov", json!({"outputPath": path}));
        assert!(refusal.starts_with("INVALID_INPUT: "), "{} bytes: {refusal}", path.len());
        assert!(refusal.contains("too long") || refusal.contains("255 bytes"), "{refusal}");
    }
}

/// Characters that are special on some system, and none that reach a file outside the folder or of the campaign.
#[test]
fn unusual_names_are_written_as_they_are_or_rejected() {
    let scene = TestCampaign::ended();
    for path in [
        "lcov.info.",
        "lcov.info...",
        "a b.info",
        "CON",
        "nul.info",
        "a:b",
        "a\\b.info",
        "*?.info",
        "-rf",
        "~",
        "$HOME",
        "a'b\".info",
        "e\u{301}.info",
        "日本.info",
    ] {
        let lcov = scene.call_ok("dump_lcov", json!({"outputPath": path}))["lcov"].clone();
        assert_eq!(lcov, fs::read_to_string(scene.folder.path().join(path)).unwrap(), "{path:?}");
    }
    for path in [
        ".",
        "..",
        "...",
        ". ",
        ".hidden",
        "a/.hidden",
        "a\nb.info",
        "a\u{1b}[31m.info",
        "a\tb",
        "a\u{7f}",
        "a\u{85}b",
        "x.JSON",
        "x.TxT",
        "x.sol",
        "x.jsonl",
        "x.corrupt",
        "a/",
        "/",
        "//x",
    ] {
        let refusal = scene.call_err("dump_lcov", json!({"outputPath": path}));
        let known = ["INVALID_INPUT: ", "ACCESS_DENIED: "].iter().any(|it| refusal.starts_with(it));
        assert!(known, "{path:?}: {refusal}");
        assert!(!refusal.contains(['\n', '\u{1b}']), "{path:?}: {refusal:?}");
    }
    let written = fs::read_dir(scene.folder.path()).unwrap();
    let written = written.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(
        written.filter(|name| name.starts_with('.')).count(),
        0,
        "no temporary files remain"
    );
}

#[test]
fn output_path_requires_a_corpus_folder() {
    let campaign = CampaignSetup::default().start();
    let shared = Arc::clone(campaign.shared());
    let slot = Arc::new(CampaignSlot::new("vault"));
    slot.set_live(LiveCampaign {
        shared: Arc::clone(&shared),
        output: None,
        scene: None,
        log: CommandLog::disabled(),
    });
    let scene = TestCampaign::from_slot(slot, shared, tempfile::tempdir().unwrap(), campaign);
    let refusal = scene.call_err("dump_lcov", json!({"outputPath": "lcov.info"}));
    assert!(
        refusal.starts_with("INVALID_INPUT: ") && refusal.contains("--corpus-dir DIR"),
        "{refusal}"
    );
    scene.call_ok("dump_lcov", json!({}));
    scene.call_ok("inject_transaction", json!({"sequence": ["deposit(1)"]}));
}
