//! Reads a command log to replay it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use alloy_primitives::{Address, U256};
use fuzz::campaign::{CampaignCommand, SequenceInjection};
use fuzz::script;
use fuzz::target::FuzzTarget;
use serde::Deserialize;
use serde_json::Value;

use super::CommandLogLine;

/// Maximum size of a command log. A line takes a few kilobytes at most, so real logs stay far below it.
const MAX_LOG_BYTES: u64 = 64 << 20;

/// Reason that a command log cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum CommandLogError {
    #[error("failed to read the command log {}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} exceeds the limit of {MAX_LOG_BYTES} bytes for a command log", .0.display())]
    TooLarge(PathBuf),
    #[error("line {line} of {}: {reason}", .path.display())]
    Line { path: PathBuf, line: usize, reason: String },
}

/// Returns the commands of an earlier run, each with the round in which it took effect.
pub fn read_commands(
    path: &Path,
    target: &FuzzTarget,
) -> Result<Vec<(u64, CampaignCommand)>, CommandLogError> {
    let text = read_text(path)?;
    let mut commands = Vec::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let is_cut_short = !line.ends_with('\n');
        if line.trim().is_empty() {
            continue;
        }
        match parse_command(line, target) {
            Ok(command) => commands.push(command),
            // The run was killed while writing this line, so the command never took effect.
            Err(_) if is_cut_short => {}
            Err(reason) => {
                return Err(CommandLogError::Line {
                    path: path.to_owned(),
                    line: index + 1,
                    reason,
                });
            }
        }
    }
    Ok(commands)
}

fn read_text(path: &Path) -> Result<String, CommandLogError> {
    let failed = |source| CommandLogError::Read { path: path.to_owned(), source };
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_LOG_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_LOG_BYTES {
        return Err(CommandLogError::TooLarge(path.to_owned()));
    }
    Ok(text)
}

#[derive(Deserialize)]
struct LoggedInjection {
    sequence: Vec<String>,
    sender: Address,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoggedPriority {
    function_signature: String,
    /// Address of the smart contract, in case several have the function.
    contract: Option<Address>,
}

fn parse_command(line: &str, target: &FuzzTarget) -> Result<(u64, CampaignCommand), String> {
    let line: CommandLogLine =
        serde_json::from_str(line).map_err(|error| describe_json_error(&error))?;
    let command = match line.tool.as_str() {
        "inject_transaction" => parse_injection(parse_arguments(line.arguments)?, target)?,
        "prioritize_function" => parse_priority(parse_arguments(line.arguments)?, target)?,
        "clear_priorities" => CampaignCommand::ClearPriorities,
        other => return Err(format!("unknown tool `{}`", guard::display_path(other))),
    };
    Ok((line.round, command))
}

/// Returns the error without its position in the line, which would be mistaken for a position in the file.
fn describe_json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    format!("invalid command: {}", text.split(" at line ").next().unwrap_or_default())
}

fn parse_arguments<T: serde::de::DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(|error| format!("invalid arguments: {error}"))
}

fn parse_injection(
    inject: LoggedInjection,
    target: &FuzzTarget,
) -> Result<CampaignCommand, String> {
    let step = |(index, text): (usize, &String)| {
        script::parse_call(text, target).map_err(|error| format!("call {}: {error}", index + 1))
    };
    let steps = inject.sequence.iter().enumerate().map(step).collect::<Result<_, _>>()?;
    let value = U256::from_str_radix(&inject.value, 10)
        .map_err(|_| "invalid `value`: expected a decimal number of wei".to_owned())?;
    Ok(CampaignCommand::Inject(SequenceInjection { steps, sender: inject.sender, value }))
}

fn parse_priority(
    prioritize: LoggedPriority,
    target: &FuzzTarget,
) -> Result<CampaignCommand, String> {
    let LoggedPriority { function_signature, contract } = prioritize;
    let function = target.find_function(&function_signature, contract).ok_or_else(|| {
        format!("unknown function `{}`", guard::display_path(&function_signature))
    })?;
    Ok(CampaignCommand::Prioritize(function))
}
