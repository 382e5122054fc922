//! Cheat codes that run programs; opt-in. Their effects cannot be undone, and a campaign that uses them cannot be
//! reproduced from its seed.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use alloy_primitives::{Bytes, hex};

use super::args::CheatcodeArgs;
use super::table::CheatcodeEntry;
use super::{CheatcodeCall, CheatcodeError, CheatcodeResult, encoding};
use crate::chain::NotRunReason;

pub(super) const TABLE: &[CheatcodeEntry] =
    &[("ffi(string[])", run_ffi), ("setEnv(string,string)", set_variable)];

/// Environment variables that contracts set. Checkpoints share them.
pub(in super::super) type SetVariables = Option<Arc<BTreeMap<String, String>>>;

/// Time limit of a program.
const TIME: Duration = Duration::from_secs(10);

/// Maximum bytes of output, and maximum arguments of a program.
const MAX_OUTPUT: u64 = 1 << 20;
const MAX_WORDS: usize = 1024;

fn run_ffi(call: &mut CheatcodeCall<'_>, args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let cheats = &call.context.chain.cheats;
    if !cheats.runs_programs {
        let text = "the cheat code vm.ffi(string[]) runs programs; pass `--allow-ffi` to allow it";
        return Err(CheatcodeError::NotRun(NotRunReason::RefusedCheatcode(text.to_owned())));
    }
    let (mut items, count) = args.read_list()?;
    if count > MAX_WORDS {
        return Err(CheatcodeError::InvalidUse(format!(
            "{count} arguments given; the limit is {MAX_WORDS}"
        )));
    }
    let words = (0..count).map(|_| items.read_text()).collect::<Result<Vec<String>, _>>()?;
    let Some((program, words)) = words.split_first() else {
        return Err(CheatcodeError::InvalidUse("no program given".to_owned()));
    };
    let mut command = Command::new(program);
    command.args(words).envs(&cheats.variables);
    command.envs(cheats.set_variables.iter().flat_map(|set| set.iter()));
    let output = run_command(command)
        .map_err(|why| CheatcodeError::InvalidUse(format!("`{program}` {why}")))?;
    Ok(encoding::encode_bytes(&decode_output(&output)))
}

/// Runs a command and returns its bounded output.
fn run_command(mut command: Command) -> Result<Vec<u8>, String> {
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = spawned.map_err(|error| format!("failed to start: {error}"))?;
    let read = read_stdout(&mut child);
    if read.is_err() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| format!("could not be waited for: {error}"))?;
    let output = read?;
    if status.success() { Ok(output) } else { Err(format!("failed: {status}")) }
}

/// Reads on a separate thread: a program that writes nothing must not block the worker.
fn read_stdout(child: &mut Child) -> Result<Vec<u8>, String> {
    let Some(stdout) = child.stdout.take() else { return Ok(Vec::new()) };
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut output = Vec::new();
        let read = stdout.take(MAX_OUTPUT + 1).read_to_end(&mut output);
        // The receiver is gone after a timeout.
        let _ = send.send(read.map(|_| output));
    });
    match receive.recv_timeout(TIME) {
        Ok(Ok(output)) if output.len() as u64 > MAX_OUTPUT => {
            Err(format!("wrote more than {MAX_OUTPUT} bytes"))
        }
        Ok(Ok(output)) => Ok(output),
        Ok(Err(error)) => Err(format!("has unreadable output: {error}")),
        Err(_) => Err(format!("timed out after {} seconds", TIME.as_secs())),
    }
}

/// Decodes hexadecimal output to bytes; returns any other output as is.
fn decode_output(output: &[u8]) -> Bytes {
    let text = output.trim_ascii();
    hex::decode(text).map_or_else(|_| Bytes::copy_from_slice(text), Into::into)
}

/// Sets an environment variable for programs run by cheat codes, and for cheat codes that read one; the fuzzer's own
/// environment does not change. Rewinding undoes it: other sequences must not see it.
fn set_variable(call: &mut CheatcodeCall<'_>, args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let (name, value) = (args.read_text()?, args.read_text()?);
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        return Err(CheatcodeError::InvalidUse(
            "invalid environment variable name or value".to_owned(),
        ));
    }
    let variables = Arc::make_mut(call.context.chain.cheats.set_variables.get_or_insert_default());
    if !variables.contains_key(&name) && variables.len() >= MAX_WORDS {
        return Err(CheatcodeError::InvalidUse(format!(
            "too many environment variables; the limit is {MAX_WORDS}"
        )));
    }
    variables.insert(name, value);
    Ok(Bytes::new())
}
