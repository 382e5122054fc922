//! Reading command logs for replay.

use std::fs;

use fuzz::campaign::CampaignCommand;
use pack_campaign::{CommandLog, read_commands};
use serde_json::json;

use crate::support::CampaignSetup;

const GOOD: &str = r#"{"time":"2026-01-15T10:30:00Z","round":3,"calls":[],"tool":"clear_priorities","arguments":{}}"#;

fn read_message(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp-commands.jsonl");
    fs::write(&path, text).unwrap();
    match read_commands(&path, &CampaignSetup::default().target()) {
        Ok(commands) => format!("{} commands", commands.len()),
        Err(error) => error.to_string().replace(folder.path().to_str().unwrap(), "<folder>"),
    }
}

#[test]
fn errors_name_the_invalid_line() {
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
        read_message(""),
        read_message(&format!("{GOOD}\n\n{GOOD}\n")),
        read_message(&format!("{GOOD}\nnonsense\n")),
        read_message(&format!("{GOOD}\n{{}}\n")),
        read_message(&line("drop_table", json!({}))),
        read_message(&line("prioritize_function", json!({}))),
        read_message(&line("prioritize_function", json!({"functionSignature": "mint(uint256)"}))),
        read_message(&inject("withdraw(?)", "0")),
        read_message(&inject("burn(1)", "0")),
        read_message(&inject("withdraw(1)", "0x1")),
        // The run was killed while writing the last line, so its command never took effect.
        read_message(&format!("{GOOD}\n{}", &GOOD[..40])),
        read_message(&format!("{}\n{GOOD}\n", &GOOD[..40])),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn each_run_starts_a_new_log() {
    let folder = tempfile::tempdir().unwrap();
    let target = CampaignSetup::default().target();
    let path = folder.path().join("mcp-commands.jsonl");
    let clear = || CampaignCommand::ClearPriorities;
    CommandLog::open(folder.path()).unwrap().append_command(1, &[5], &clear(), &target).unwrap();
    let earlier = read_commands(&path, &target).unwrap();

    // Replays the earlier log and adds a command.
    let log = CommandLog::open(folder.path()).unwrap();
    log.append_replayed_commands(&earlier, &target).unwrap();
    log.append_command(9, &[70], &clear(), &target).unwrap();
    assert_eq!(read_commands(&path, &target).unwrap(), [(1, clear()), (9, clear())]);
    let kept = folder.path().join("mcp-commands.1.jsonl");
    assert_eq!(read_commands(&kept, &target).unwrap(), [(1, clear())]);

    // A run without commands leaves no log behind.
    drop(CommandLog::open(folder.path()).unwrap());
    drop(CommandLog::open(folder.path()).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}
