//! `write_memory_entry` on a disk that fails, fills up and loses power at every point.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use disk::simulated::{DurableFeature, SimulatedDisk, check_durability};
use pack_repo::{RepoOptions, build_tools};
use serde_json::{Value, json};

use crate::{call_tool, find_tool, test_context};

const LOG: &str = ".claude/memory/progress_log.jsonl";
/// Longer than a sector, so that a part of it may be missing in the middle.
const PADDING: usize = 1_200;

/// One entry that is appended to a memory file with this content.
struct MemoryEntry {
    before: Option<&'static str>,
}

fn entry() -> String {
    json!({"id": "new", "padding": "x".repeat(PADDING)}).to_string()
}

impl DurableFeature for MemoryEntry {
    fn prepare(&self, root: &Path) {
        if let Some(before) = self.before {
            fs::create_dir_all(root.join(".claude/memory")).unwrap();
            fs::write(root.join(LOG), before).unwrap();
        }
    }

    fn write(&self, root: &Path, disk: Arc<SimulatedDisk>) -> Result<(), String> {
        let tools = build_tools(root, RepoOptions { disk, ..Default::default() }).unwrap();
        let arguments = json!({"file": "progress_log.jsonl", "entry": entry()});
        let written =
            call_tool(find_tool(&tools, "write_memory_entry"), arguments, &test_context());
        written.map(drop).map_err(|error| error.to_string())
    }

    fn check(&self, root: &Path, is_acknowledged: bool) -> Result<(), String> {
        let bytes = fs::read(root.join(LOG)).unwrap_or_default();
        let before = self.before.unwrap_or_default();
        // An unfinished entry may be removed.
        let before = &before.as_bytes()[..before.rfind('\n').map_or(0, |newline| newline + 1)];
        let Some(added) = bytes.strip_prefix(before) else {
            return Err("an earlier entry was changed".to_owned());
        };
        let mut found = 0;
        for line in added.split(|byte| *byte == b'\n') {
            match serde_json::from_slice::<Value>(line) {
                Ok(value) if value == serde_json::from_str::<Value>(&entry()).unwrap() => {
                    found += 1
                }
                Ok(value) => return Err(format!("torn entry is read as {value}")),
                // A line that is not JSON is no entry.
                Err(_) => {}
            }
        }
        match found >= usize::from(is_acknowledged) {
            true => Ok(()),
            false => Err("the acknowledged entry is lost".to_owned()),
        }
    }
}

fn check(before: Option<&'static str>) -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    let operations = check_durability(root.path(), &MemoryEntry { before }).unwrap();
    operations.iter().map(ToString::to_string).collect()
}

#[test]
fn first_entry_survives_any_fault() {
    assert_eq!(
        check(None),
        [
            "SyncFolder ",
            "SyncFolder .claude",
            "SyncFolder .claude/memory",
            "Write .claude/memory/progress_log.jsonl",
            "SyncData .claude/memory/progress_log.jsonl",
        ]
    );
}

#[test]
fn next_entry_survives_any_fault() {
    let expected =
        ["Write .claude/memory/progress_log.jsonl", "SyncData .claude/memory/progress_log.jsonl"];
    assert_eq!(check(Some("{\"id\":\"old\"}\n")), expected);
    let expected = [&["SetLen .claude/memory/progress_log.jsonl"], &expected[..]].concat();
    assert_eq!(check(Some("{\"id\":\"old\"}\n{\"id\":\"torn")), expected);
}
