//! Reads a log of commands again.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use alloy_primitives::{Address, U256};
use fuzz::campaign::{Command, Injection};
use fuzz::script;
use fuzz::target::Target;
use serde::Deserialize;
use serde_json::Value;

use super::Line;

/// A line takes some kilobytes at most; nobody gives so many commands.
const MAX_BYTES: u64 = 64 << 20;

/// Why commands cannot be given again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("cannot read the commands in {}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} has more than {MAX_BYTES} bytes, which no log of commands has", .0.display())]
    TooLarge(PathBuf),
    #[error("line {line} of {}: {reason}", .path.display())]
    Line { path: PathBuf, line: usize, reason: String },
}

/// The commands of an earlier run, each with the round in which it took effect.
pub fn read_commands(path: &Path, target: &Target) -> Result<Vec<(u64, Command)>, ReplayError> {
    let text = text(path)?;
    let mut commands = Vec::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let is_cut_short = !line.ends_with('\n');
        if line.trim().is_empty() {
            continue;
        }
        match command(line, target) {
            Ok(command) => commands.push(command),
            // A kill came in between: the command was never given.
            Err(_) if is_cut_short => {}
            Err(reason) => {
                return Err(ReplayError::Line { path: path.to_owned(), line: index + 1, reason });
            }
        }
    }
    Ok(commands)
}

fn text(path: &Path) -> Result<String, ReplayError> {
    let failed = |source| ReplayError::Read { path: path.to_owned(), source };
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(ReplayError::TooLarge(path.to_owned()));
    }
    Ok(text)
}

#[derive(Deserialize)]
struct Inject {
    sequence: Vec<String>,
    sender: Address,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prioritize {
    function_signature: String,
    /// The contract's address, where several have such a function.
    contract: Option<Address>,
}

fn command(line: &str, target: &Target) -> Result<(u64, Command), String> {
    let line: Line = serde_json::from_str(line).map_err(|error| no_command(&error))?;
    let command = match line.tool.as_str() {
        "inject_transaction" => inject(arguments(line.arguments)?, target)?,
        "prioritize_function" => prioritize(arguments(line.arguments)?, target)?,
        "clear_priorities" => Command::ClearPriorities,
        other => return Err(format!("`{}` gives no commands", guard::shown(other))),
    };
    Ok((line.round, command))
}

/// Without the place in the line, which would be taken for one in the file.
fn no_command(error: &serde_json::Error) -> String {
    let text = error.to_string();
    format!("no command: {}", text.split(" at line ").next().unwrap_or_default())
}

fn arguments<T: serde::de::DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(|error| format!("its arguments: {error}"))
}

fn inject(inject: Inject, target: &Target) -> Result<Command, String> {
    let step = |(index, text): (usize, &String)| {
        script::read(text, target).map_err(|error| format!("call {}: {error}", index + 1))
    };
    let steps = inject.sequence.iter().enumerate().map(step).collect::<Result<_, _>>()?;
    let value = U256::from_str_radix(&inject.value, 10)
        .map_err(|_| "its value is no number of wei".to_owned())?;
    Ok(Command::Inject(Injection { steps, sender: inject.sender, value }))
}

fn prioritize(prioritize: Prioritize, target: &Target) -> Result<Command, String> {
    let Prioritize { function_signature, contract } = prioritize;
    let function = target.find(&function_signature, contract).ok_or_else(|| {
        format!("the target has no function `{}`", guard::shown(&function_signature))
    })?;
    Ok(Command::Prioritize(function))
}
