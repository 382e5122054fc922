//! Cheat codes that run programs, for those who allowed it: what a program does is nobody's to undo, and a campaign that
//! runs one cannot be repeated from its seed.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use alloy_primitives::{Bytes, hex};

use super::args::Args;
use super::table::Entry;
use super::{Answer, Call, Refusal, answer};

pub(super) const TABLE: &[Entry] =
    &[("ffi(string[])", run), ("setEnv(string,string)", set_variable)];

/// How long a program may take.
const TIME: Duration = Duration::from_secs(10);

/// The longest output that is read, and the most words that a program is called with.
const MAX_OUTPUT: u64 = 1 << 20;
const MAX_WORDS: usize = 1024;

fn run(call: &mut Call<'_>, args: &mut Args<'_>) -> Answer {
    let cheats = &call.context.chain.cheats;
    if !cheats.runs_programs {
        let text =
            "the cheat code vm.ffi(string[]) runs programs, which must be allowed: --allow-ffi";
        return Err(Refusal::Unsupported(text.to_owned()));
    }
    let (mut items, count) = args.list()?;
    if count > MAX_WORDS {
        return Err(Refusal::Misuse(format!("{count} words are more than {MAX_WORDS}")));
    }
    let words = (0..count).map(|_| items.text()).collect::<Result<Vec<String>, _>>()?;
    let Some((program, words)) = words.split_first() else {
        return Err(Refusal::Misuse("there is no program to run".to_owned()));
    };
    let mut command = Command::new(program);
    command.args(words).envs(&cheats.variables);
    let output = output(command).map_err(|why| Refusal::Misuse(format!("`{program}` {why}")))?;
    Ok(answer::bytes(&meaning(&output)))
}

/// What a program wrote, within bounds.
fn output(mut command: Command) -> Result<Vec<u8>, String> {
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = spawned.map_err(|error| format!("cannot be run: {error}"))?;
    let read = read(&mut child);
    if read.is_err() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| format!("was lost: {error}"))?;
    let output = read?;
    if status.success() { Ok(output) } else { Err(format!("failed: {status}")) }
}

/// Reads on a thread of its own: a program that writes nothing must not hold the worker up.
fn read(child: &mut Child) -> Result<Vec<u8>, String> {
    let Some(stdout) = child.stdout.take() else { return Ok(Vec::new()) };
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut output = Vec::new();
        let read = stdout.take(MAX_OUTPUT + 1).read_to_end(&mut output);
        // Nobody listens once the time is up.
        let _ = send.send(read.map(|_| output));
    });
    match receive.recv_timeout(TIME) {
        Ok(Ok(output)) if output.len() as u64 > MAX_OUTPUT => {
            Err(format!("wrote more than {MAX_OUTPUT} bytes"))
        }
        Ok(Ok(output)) => Ok(output),
        Ok(Err(error)) => Err(format!("could not be read: {error}")),
        Err(_) => Err(format!("took longer than {} seconds", TIME.as_secs())),
    }
}

/// Hexadecimal digits stand for bytes; everything else for itself.
fn meaning(output: &[u8]) -> Bytes {
    let text = output.trim_ascii();
    hex::decode(text).map_or_else(|_| Bytes::copy_from_slice(text), Into::into)
}

/// Variables are seen by the programs that contracts run, and by nothing else.
fn set_variable(call: &mut Call<'_>, args: &mut Args<'_>) -> Answer {
    let (name, value) = (args.text()?, args.text()?);
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        return Err(Refusal::Misuse("no variable can have this name or value".to_owned()));
    }
    let variables = &mut call.context.chain.cheats.variables;
    if !variables.contains_key(&name) && variables.len() >= MAX_WORDS {
        return Err(Refusal::Misuse(format!("there are {MAX_WORDS} variables already")));
    }
    variables.insert(name, value);
    Ok(Bytes::new())
}
