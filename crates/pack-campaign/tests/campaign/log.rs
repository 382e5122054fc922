//! Logs of commands that are read again.

use std::fs;

use fuzz::campaign::Command;
use pack_campaign::{CommandLog, read_commands};
use serde_json::json;

use crate::support::Setting;

const GOOD: &str = r#"{"time":"2026-01-15T10:30:00Z","round":3,"calls":[],"tool":"clear_priorities","arguments":{}}"#;

fn message(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp-commands.jsonl");
    fs::write(&path, text).unwrap();
    match read_commands(&path, &Setting::default().target()) {
        Ok(commands) => format!("{} commands", commands.len()),
        Err(error) => error.to_string().replace(folder.path().to_str().unwrap(), "<folder>"),
    }
}

#[test]
fn a_line_that_cannot_be_used_is_named() {
    let line = |tool: &str, arguments| {
        let line = json!({
            "time": "2026-01-15T10:30:00Z", "round": 4, "calls": [1], "tool": tool, "arguments": arguments,
        });
        format!("{GOOD}\n{line}\n")
    };
    let sender = "0x0000000000000000000000000000000000010000";
    let inject = |call: &str, value: &str| {
        line(
            "inject_transaction",
            json!({"sequence": ["deposit(1)", call], "sender": sender, "value": value}),
        )
    };
    let messages = [
        message(""),
        message(&format!("{GOOD}\n\n{GOOD}\n")),
        message(&format!("{GOOD}\nnonsense\n")),
        message(&format!("{GOOD}\n{{}}\n")),
        message(&line("drop_table", json!({}))),
        message(&line("prioritize_function", json!({}))),
        message(&line("prioritize_function", json!({"functionSignature": "mint(uint256)"}))),
        message(&inject("withdraw(?)", "0")),
        message(&inject("burn(1)", "0")),
        message(&inject("withdraw(1)", "0x1")),
        // A kill came while the last line was written, so its command was never given.
        message(&format!("{GOOD}\n{}", &GOOD[..40])),
        message(&format!("{}\n{GOOD}\n", &GOOD[..40])),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn a_log_belongs_to_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let target = Setting::default().target();
    let path = folder.path().join("mcp-commands.jsonl");
    let clear = || Command::ClearPriorities;
    CommandLog::open(folder.path()).unwrap().note(1, &[5], &clear(), &target).unwrap();
    let earlier = read_commands(&path, &target).unwrap();

    // The earlier log is given again, and a command more.
    let log = CommandLog::open(folder.path()).unwrap();
    log.note_again(&earlier, &target).unwrap();
    log.note(9, &[70], &clear(), &target).unwrap();
    assert_eq!(read_commands(&path, &target).unwrap(), [(1, clear()), (9, clear())]);
    let kept = folder.path().join("mcp-commands.1.jsonl");
    assert_eq!(read_commands(&kept, &target).unwrap(), [(1, clear())]);

    // A run without commands leaves nothing behind.
    drop(CommandLog::open(folder.path()).unwrap());
    drop(CommandLog::open(folder.path()).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}
