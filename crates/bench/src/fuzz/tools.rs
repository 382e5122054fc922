//! One run of a fuzzer on a contract: what is started, and what its output says.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::measured::{self, End, Ran};
use super::peers::Peers;
use super::subjects::Subject;
use crate::dist::binary_path;

/// No run of a tool that is not to be ended early may take longer than this, in seconds of processor time.
const NO_LIMIT: u64 = 3600;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Vouch,
    /// Random calls on plain revm, which is no fuzzer but what one cannot go below.
    Bare,
    Forge,
    /// With a folder for its corpus, which turns guidance by coverage on.
    ForgeGuided,
    Echidna,
}

/// What a run is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub(crate) calls: u64,
    pub(crate) seed: u64,
    /// Seconds of processor time.
    pub(crate) limit: Option<u64>,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) cpu: f64,
    /// None where the tool does not tell.
    pub(crate) calls: Option<u64>,
    pub(crate) reverts: Option<u64>,
    pub(crate) gas: Option<u64>,
    pub(crate) is_broken: bool,
    pub(crate) is_out_of_time: bool,
}

/// What the output of a tool tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told {
    calls: Option<u64>,
    reverts: Option<u64>,
    gas: Option<u64>,
    is_broken: bool,
}

impl Tool {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Vouch => "vouch",
            Self::Bare => "bare revm",
            Self::Forge => "forge 1.7.1",
            Self::ForgeGuided => "forge 1.7.1, guided",
            Self::Echidna => "Echidna 2.0.2",
        }
    }

    /// Why it cannot be run.
    pub(crate) fn absence(self, peers: &Peers) -> Option<&str> {
        let peer = match self {
            Self::Vouch | Self::Bare => return None,
            Self::Forge | Self::ForgeGuided => &peers.forge,
            Self::Echidna => &peers.echidna,
        };
        peer.as_ref().err().map(String::as_str)
    }

    /// Lets a peer compile the contract, which it does once.
    pub(crate) fn prepare(self, peers: &Peers, subject: &Subject) -> Result<()> {
        match self {
            Self::Vouch | Self::Bare => Ok(()),
            Self::Forge | Self::ForgeGuided | Self::Echidna => {
                self.run(peers, subject, Task { calls: 1, seed: 1, limit: None }).map(drop)
            }
        }
    }

    /// Runs it on the contract, one worker, sequences of a hundred calls.
    pub(crate) fn run(self, peers: &Peers, subject: &Subject, task: Task) -> Result<Outcome> {
        let command = self.command(peers, subject, task)?;
        let ran = measured::run(&command, task.limit.unwrap_or(NO_LIMIT))?;
        let is_out_of_time = ran.end == End::OutOfTime;
        let told = match is_out_of_time {
            true => Told::default(),
            false => self.read(&ran, task).with_context(|| {
                format!("{} on {} ended with {}", self.name(), subject.title, ran.told())
            })?,
        };
        let Told { calls, reverts, gas, is_broken } = told;
        Ok(Outcome { cpu: ran.cpu, calls, reverts, gas, is_broken, is_out_of_time })
    }

    fn command(self, peers: &Peers, subject: &Subject, task: Task) -> Result<Command> {
        Ok(match self {
            Self::Vouch => vouch(subject, task),
            Self::Bare => bare(subject, task),
            Self::Forge => forge(peers, subject, task)?,
            Self::ForgeGuided => {
                let corpus = subject.forge().join("corpus");
                clear(&corpus)?;
                let mut command = forge(peers, subject, task)?;
                command.env("FOUNDRY_INVARIANT_CORPUS_DIR", corpus);
                command
            }
            Self::Echidna => echidna(peers, subject, task)?,
        })
    }

    fn read(self, ran: &Ran, task: Task) -> Result<Told> {
        match self {
            Self::Vouch | Self::Bare => own(&ran.stdout),
            Self::Forge | Self::ForgeGuided => forge_text(&ran.stdout),
            Self::Echidna => echidna_json(&ran.stdout, task.calls),
        }
    }
}

/// Returns the path of the shipped binary.
pub(crate) fn vouch_binary() -> PathBuf {
    binary_path("vouch")
}

/// Returns the path of the example of the crate `fuzz`.
pub(crate) fn bench_binary() -> PathBuf {
    binary_path("examples/bench")
}

fn vouch(subject: &Subject, task: Task) -> Command {
    let mut command = Command::new(vouch_binary());
    command.arg("fuzz").arg(subject.build());
    command.args(["--contract", &subject.contract, "--json", "--workers", "1"]);
    command.args(["--seq-len", "100", "--shrink-limit", "0", "--stop-on-fail"]);
    command.args(["--test-limit", &task.calls.to_string(), "--seed", &task.seed.to_string()]);
    command.current_dir(&subject.folder);
    command
}

fn bare(subject: &Subject, task: Task) -> Command {
    let mut command = Command::new(bench_binary());
    command.arg("bare").arg(subject.build()).arg(&subject.contract);
    command.args([task.calls.to_string(), task.seed.to_string()]);
    command
}

/// Runs of a hundred calls each.
fn forge(peers: &Peers, subject: &Subject, task: Task) -> Result<Command> {
    let program = peers.forge.as_ref().map_err(|error| anyhow::anyhow!("no forge: {error}"))?;
    // A failure that it remembers would be run first.
    clear(&subject.forge().join("failures"))?;
    let mut command = peers.command(program)?;
    command.args(["test", "--threads", "1", "--fuzz-seed", &task.seed.to_string()]);
    command.env("FOUNDRY_INVARIANT_RUNS", task.calls.div_ceil(100).to_string());
    command.env("FOUNDRY_INVARIANT_DEPTH", "100").current_dir(subject.forge());
    Ok(command)
}

fn echidna(peers: &Peers, subject: &Subject, task: Task) -> Result<Command> {
    let program = peers.echidna.as_ref().map_err(|error| anyhow::anyhow!("no Echidna: {error}"))?;
    let mut command = peers.command(program)?;
    let (folder, source) = subject.echidna();
    command.current_dir(folder).arg(source).args(["--contract", &subject.contract]);
    command.args(["--config", "peer.yaml", "--test-limit", &task.calls.to_string()]);
    command.args(["--seed", &task.seed.to_string()]);
    Ok(command)
}

fn clear(folder: &std::path::Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("clearing {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// What vouch and the bare loop print: an object with the sums, and for vouch the tests.
fn own(stdout: &str) -> Result<Told> {
    let json: Value = serde_json::from_str(stdout.trim()).context("it printed no JSON")?;
    let tests = json["tests"].as_array().into_iter().flatten();
    let functions = json["gas_info"].as_array();
    let reverts = |functions: &Vec<Value>| {
        functions.iter().filter_map(|function| function["reverts"].as_u64()).sum()
    };
    Ok(Told {
        calls: Some(json["calls"].as_u64().context("it does not say how many calls it made")?),
        reverts: json["reverts"].as_u64().or_else(|| functions.map(reverts)),
        gas: json["gas"].as_u64(),
        is_broken: tests.into_iter().any(|test| test["status"] != "passed"),
    })
}

/// A line such as `[PASS] invariant_holds() (runs: 100, calls: 10000, reverts: 4858)`. It counts the runs that ended; of the
/// one that broke the property another line tells the length, as `[Sequence] (original: 61, shrunk: 61)`.
fn forge_text(stdout: &str) -> Result<Told> {
    let figure = |line: &str, name: &str| -> Option<u64> {
        let line = stdout.lines().find(|it| it.contains(line))?;
        let (_, rest) = line.split_once(&format!("{name}: "))?;
        rest.split([',', ')']).next()?.parse().ok()
    };
    let sums = "invariant_holds() (runs: ";
    let (calls, reverts) = (figure(sums, "calls"), figure(sums, "reverts"));
    let calls = calls.context("it does not say how many calls it made")?;
    match (stdout.contains("[PASS]"), stdout.contains("[FAIL: broken]")) {
        (true, false) => Ok(Told { calls: Some(calls), reverts, gas: None, is_broken: false }),
        (false, true) => {
            let last = figure("[Sequence]", "original");
            let last = last.context("it does not say how long the last sequence was")?;
            Ok(Told { calls: Some(calls + last), reverts, gas: None, is_broken: true })
        }
        _ => bail!("it neither passed nor found what is broken"),
    }
}

/// It makes the calls that it may, and does not say when it broke something.
fn echidna_json(stdout: &str, calls: u64) -> Result<Told> {
    let line = stdout.lines().find(|line| line.starts_with('{')).context("it printed no JSON")?;
    let json: Value = serde_json::from_str(line).context("it printed no JSON")?;
    ensure!(json["error"].is_null(), "it could not run: {}", json["error"]);
    let tests = json["tests"].as_array().context("it names no tests")?;
    ensure!(!tests.is_empty(), "it found no test");
    // The second is what it says if all its calls were one sequence.
    let holds = |test: &Value| matches!(test["status"].as_str(), Some("passed" | "fuzzing"));
    let is_broken = !tests.iter().all(holds);
    let calls = (!is_broken).then_some(calls);
    Ok(Told { calls, reverts: None, gas: None, is_broken })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_verdicts_of_vouch_are_read() {
        let stdout = r#"{"tests":[{"status":"solved"}],"calls":812,"gas":99,
            "gas_info":[{"reverts":3},{"reverts":4}]}"#;
        insta::assert_debug_snapshot!(own(stdout).unwrap(), @r"
        Told {
            calls: Some(
                812,
            ),
            reverts: Some(
                7,
            ),
            gas: Some(
                99,
            ),
            is_broken: true,
        }
        ");
        let holds = own(r#"{"tests":[{"status":"passed"}],"calls":1}"#).unwrap();
        assert!(!holds.is_broken);
        let bare = own(r#"{"calls":10,"reverts":2,"gas":3}"#).unwrap();
        let wanted = Told { calls: Some(10), reverts: Some(2), gas: Some(3), is_broken: false };
        assert_eq!(bare, wanted);
        assert!(own("nothing").is_err());
    }

    #[test]
    fn figures_and_verdicts_of_forge_are_read() {
        let passed = "Ran 1 test for test/A.t.sol:BenchTest\n\
            [PASS] invariant_holds() (runs: 100, calls: 10000, reverts: 4858)\n";
        let told = Told { calls: Some(10000), reverts: Some(4858), gas: None, is_broken: false };
        assert_eq!(forge_text(passed).unwrap(), told);
        let failed = "[FAIL: broken]\n\t[Sequence] (original: 61, shrunk: 61)\n\
            \t\tsender=0x01 addr=[src/A.sol:A]0x02 calldata=f() args=[]\n \
            invariant_holds() (runs: 3, calls: 200, reverts: 1)\n";
        let told = Told { calls: Some(261), reverts: Some(1), gas: None, is_broken: true };
        assert_eq!(forge_text(failed).unwrap(), told);
        assert!(forge_text("Compiler run failed").is_err());
        let other = failed.replace("broken", "panic: assertion failed (0x01)");
        assert!(forge_text(&other).is_err());
    }

    #[test]
    fn verdicts_of_echidna_are_read() {
        let passed = "Loaded\n{\"tests\":[{\"status\":\"passed\"}],\"error\":null}\n";
        let told = Told { calls: Some(2000), ..Told::default() };
        assert_eq!(echidna_json(passed, 2000).unwrap(), told);
        let solved = r#"{"tests":[{"status":"solved"}],"error":null}"#;
        assert_eq!(
            echidna_json(solved, 2000).unwrap(),
            Told { is_broken: true, ..Told::default() }
        );
        assert!(echidna_json(r#"{"tests":[],"error":null}"#, 1).is_err());
        assert!(echidna_json(r#"{"tests":[{}],"error":"no"}"#, 1).is_err());
    }
}
