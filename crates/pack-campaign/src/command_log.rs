//! `mcp-commands.jsonl`: the command log, from which a steered campaign can be replayed.
//!
//! ```text
//! {"time":"2026-01-15T10:30:00.120Z","round":17,"calls":[5210,4988],"tool":"inject_transaction","arguments":{…}}
//! ```
//!
//! `round` is the round in which a command takes effect in every worker. With it, the seed and the number of
//! workers, a campaign is reproducible. `calls` is the number of calls each worker had made when the command was
//! given. A line is written before its command can take effect. A line cut short by a kill therefore belongs to a
//! command that never took effect, and is skipped.
//!
//! A log belongs to one run. The log of an earlier run in the same folder is renamed and kept.

mod read;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use contract::time;
use fuzz::campaign::CampaignCommand;
use fuzz::target::FuzzTarget;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::text;

pub use read::{CommandLogError, read_commands};

/// File name of the command log in the corpus folder.
pub const COMMAND_LOG_NAME: &str = "mcp-commands.jsonl";

/// Log of the commands given to one campaign.
pub struct CommandLog {
    /// `None` if commands are not logged.
    file: Option<Mutex<File>>,
}

/// One line of the command log.
#[derive(Serialize, Deserialize)]
struct CommandLogLine {
    time: String,
    round: u64,
    calls: Vec<u64>,
    tool: String,
    arguments: Value,
}

impl CommandLog {
    /// Creates a new log in the folder and renames the log of an earlier run.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join(COMMAND_LOG_NAME);
        rename_earlier_log(folder, &path)?;
        let file = OpenOptions::new().create_new(true).append(true).open(path)?;
        Ok(Self::from_file(file))
    }

    /// Creates a log that appends to an open file.
    pub fn from_file(file: File) -> Self {
        Self { file: Some(Mutex::new(file)) }
    }

    /// Creates a log that discards all commands.
    pub fn disabled() -> Self {
        Self { file: None }
    }

    /// Appends a command. `calls` is the number of calls each worker has made so far.
    ///
    /// The line is passed to the operating system but not synced to disk. A campaign does not survive a power loss
    /// either, and workers at the end of a round wait for this write.
    pub fn append_command(
        &self,
        round: u64,
        calls: &[u64],
        command: &CampaignCommand,
        target: &FuzzTarget,
    ) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let (tool, arguments) = describe_command(command, target);
        let (time, calls) = (time::now_rfc3339(), calls.to_vec());
        let line = CommandLogLine { time, round, calls, tool: tool.to_owned(), arguments };
        let mut line = serde_json::to_vec(&line)?;
        line.push(b'\n');
        file.lock().write_all(&line)
    }

    /// Appends the commands of an earlier run that are replayed, so that this run can be replayed as well.
    pub fn append_replayed_commands(
        &self,
        commands: &[(u64, CampaignCommand)],
        target: &FuzzTarget,
    ) -> io::Result<()> {
        commands
            .iter()
            .try_for_each(|(round, command)| self.append_command(*round, &[], command, target))
    }
}

/// Renames an earlier log to the first free name: `mcp-commands.1.jsonl` and so on. An empty log is deleted.
fn rename_earlier_log(folder: &Path, path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.len() == 0 && found.is_file() => return fs::remove_file(path),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    let mut names = (1..u32::MAX).map(|number| folder.join(format!("mcp-commands.{number}.jsonl")));
    let free = names.find(|name| !name.exists()).ok_or(io::ErrorKind::AlreadyExists)?;
    fs::rename(path, free)
}

/// Returns the name of the tool that gives the command, and its arguments.
fn describe_command(command: &CampaignCommand, target: &FuzzTarget) -> (&'static str, Value) {
    match command {
        CampaignCommand::Inject(injection) => {
            let steps = injection.steps.iter().map(|step| step.to_text(target));
            let arguments = json!({
                "sequence": steps.collect::<Vec<_>>(),
                "sender": text::format_address(injection.sender),
                "value": injection.value.to_string(),
            });
            ("inject_transaction", arguments)
        }
        CampaignCommand::Prioritize(function) => {
            let function = target.function(*function);
            let arguments = json!({
                "functionSignature": function.signature,
                "contract": text::format_address(function.address),
            });
            ("prioritize_function", arguments)
        }
        CampaignCommand::ClearPriorities => ("clear_priorities", json!({})),
    }
}
