//! `mcp-commands.jsonl`: the commands that were given to a campaign, so that it can be repeated.
//!
//! ```text
//! {"time":"2026-01-15T10:30:00.120Z","round":17,"calls":[5210,4988],"tool":"inject_transaction","arguments":{…}}
//! ```
//!
//! `round` says when a command takes effect in every worker: with it, the seed and the number of workers a campaign
//! repeats itself. `calls` is how many each worker had made when it was given. A line is written before its command can
//! take effect. So a line that a kill cut short stands for a command that never did, and is passed over.
//!
//! A log belongs to one run: what an earlier run left in the folder is kept under another name.

mod read;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use contract::time;
use fuzz::campaign::Command;
use fuzz::target::Target;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::text;

pub use read::{ReplayError, read_commands};

/// The name of the log in the folder of the corpus.
pub const LOG_NAME: &str = "mcp-commands.jsonl";

/// Where commands are written down.
pub struct CommandLog {
    /// None where nobody wants to keep them.
    file: Option<Mutex<File>>,
}

/// One line.
#[derive(Serialize, Deserialize)]
struct Line {
    time: String,
    round: u64,
    calls: Vec<u64>,
    tool: String,
    arguments: Value,
}

impl CommandLog {
    /// A new log in the folder.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join(LOG_NAME);
        keep_earlier(folder, &path)?;
        let file = OpenOptions::new().create_new(true).append(true).open(path)?;
        Ok(Self::to(file))
    }

    /// A log in a file that is open already.
    pub fn to(file: File) -> Self {
        Self { file: Some(Mutex::new(file)) }
    }

    /// A log that keeps nothing.
    pub fn none() -> Self {
        Self { file: None }
    }

    /// Writes a command down. `calls` are those that each worker has made so far.
    ///
    /// The line is handed to the operating system, not forced to the disk: a campaign does not outlive a loss of power
    /// either, and workers at the end of a round wait meanwhile.
    pub fn note(
        &self,
        round: u64,
        calls: &[u64],
        command: &Command,
        target: &Target,
    ) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let (tool, arguments) = described(command, target);
        let (time, calls) = (time::now(), calls.to_vec());
        let line = Line { time, round, calls, tool: tool.to_owned(), arguments };
        let mut line = serde_json::to_vec(&line)?;
        line.push(b'\n');
        file.lock().write_all(&line)
    }

    /// Writes down commands of an earlier run that are given again, so that this run can be repeated as well.
    pub fn note_again(&self, commands: &[(u64, Command)], target: &Target) -> io::Result<()> {
        commands.iter().try_for_each(|(round, command)| self.note(*round, &[], command, target))
    }
}

/// The first name that is free: `mcp-commands.1.jsonl` and so on. An empty log says nothing and goes.
fn keep_earlier(folder: &Path, path: &Path) -> io::Result<()> {
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

/// The tool that gives the command, and its arguments.
fn described(command: &Command, target: &Target) -> (&'static str, Value) {
    match command {
        Command::Inject(injection) => {
            let steps = injection.steps.iter().map(|step| step.text(target));
            let arguments = json!({
                "sequence": steps.collect::<Vec<_>>(),
                "sender": text::address(injection.sender),
                "value": injection.value.to_string(),
            });
            ("inject_transaction", arguments)
        }
        Command::Prioritize(function) => {
            let function = target.function(*function);
            let arguments = json!({
                "functionSignature": function.signature,
                "contract": text::address(function.address),
            });
            ("prioritize_function", arguments)
        }
        Command::ClearPriorities => ("clear_priorities", json!({})),
    }
}
