//! One run of a fuzzer on a smart contract: builds its command and parses its output.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::measured::{self, MeasuredRun, RunEnd};
use super::peers::FuzzPeers;
use super::subjects::FuzzSubject;
use crate::dist::binary_path;

/// Limit in seconds of processor time for runs that have none.
const NO_LIMIT: u64 = 3600;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FuzzTool {
    Vouch,
    /// Random calls on plain revm: the lower bound for any fuzzer.
    Bare,
    Forge,
    /// With a corpus folder, which turns coverage guidance on.
    ForgeGuided,
    Echidna,
}

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FuzzTask {
    pub(crate) calls: u64,
    pub(crate) seed: u64,
    /// Seconds of processor time.
    pub(crate) limit: Option<u64>,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FuzzOutcome {
    pub(crate) cpu: f64,
    /// `None` if the tool does not report it.
    pub(crate) calls: Option<u64>,
    pub(crate) reverts: Option<u64>,
    pub(crate) gas: Option<u64>,
    pub(crate) is_broken: bool,
    pub(crate) is_out_of_time: bool,
}

/// Parsed output of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ToolOutput {
    calls: Option<u64>,
    reverts: Option<u64>,
    gas: Option<u64>,
    is_broken: bool,
}

impl FuzzTool {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Vouch => "vouch",
            Self::Bare => "bare revm",
            Self::Forge => "forge 1.7.1",
            Self::ForgeGuided => "forge 1.7.1, guided",
            Self::Echidna => "Echidna 2.0.2",
        }
    }

    /// Returns the reason why the tool is missing, if it is.
    pub(crate) fn missing_reason(self, peers: &FuzzPeers) -> Option<&str> {
        let peer = match self {
            Self::Vouch | Self::Bare => return None,
            Self::Forge | Self::ForgeGuided => &peers.forge,
            Self::Echidna => &peers.echidna,
        };
        peer.as_ref().err().map(String::as_str)
    }

    /// Runs a peer once so that it compiles the source.
    pub(crate) fn prepare(self, peers: &FuzzPeers, subject: &FuzzSubject) -> Result<()> {
        match self {
            Self::Vouch | Self::Bare => Ok(()),
            Self::Forge | Self::ForgeGuided | Self::Echidna => {
                self.run(peers, subject, FuzzTask { calls: 1, seed: 1, limit: None }).map(drop)
            }
        }
    }

    /// Runs the tool with one worker and sequences of a hundred calls.
    pub(crate) fn run(
        self,
        peers: &FuzzPeers,
        subject: &FuzzSubject,
        task: FuzzTask,
    ) -> Result<FuzzOutcome> {
        let command = self.command(peers, subject, task)?;
        let ran = measured::run_measured(&command, task.limit.unwrap_or(NO_LIMIT))?;
        let is_out_of_time = ran.end == RunEnd::OutOfTime;
        let output = match is_out_of_time {
            true => ToolOutput::default(),
            false => self.parse_output(&ran, task).with_context(|| {
                format!("{} on {} ended with {}", self.name(), subject.title, ran.describe())
            })?,
        };
        let ToolOutput { calls, reverts, gas, is_broken } = output;
        Ok(FuzzOutcome { cpu: ran.cpu, calls, reverts, gas, is_broken, is_out_of_time })
    }

    fn command(self, peers: &FuzzPeers, subject: &FuzzSubject, task: FuzzTask) -> Result<Command> {
        Ok(match self {
            Self::Vouch => vouch_command(subject, task),
            Self::Bare => bare_command(subject, task),
            Self::Forge => forge_command(peers, subject, task)?,
            Self::ForgeGuided => {
                let corpus = subject.forge_folder().join("corpus");
                clear_folder(&corpus)?;
                let mut command = forge_command(peers, subject, task)?;
                command.env("FOUNDRY_INVARIANT_CORPUS_DIR", corpus);
                command
            }
            Self::Echidna => echidna_command(peers, subject, task)?,
        })
    }

    fn parse_output(self, ran: &MeasuredRun, task: FuzzTask) -> Result<ToolOutput> {
        match self {
            Self::Vouch | Self::Bare => parse_own_output(&ran.stdout),
            Self::Forge | Self::ForgeGuided => parse_forge_output(&ran.stdout),
            Self::Echidna => parse_echidna_output(&ran.stdout, task.calls),
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

fn vouch_command(subject: &FuzzSubject, task: FuzzTask) -> Command {
    let mut command = Command::new(vouch_binary());
    command.arg("fuzz").arg(subject.build_path());
    command.args(["--contract", &subject.contract, "--json", "--workers", "1"]);
    command.args(["--seq-len", "100", "--shrink-limit", "0", "--stop-on-fail"]);
    command.args(["--test-limit", &task.calls.to_string(), "--seed", &task.seed.to_string()]);
    command.current_dir(&subject.folder);
    command
}

fn bare_command(subject: &FuzzSubject, task: FuzzTask) -> Command {
    let mut command = Command::new(bench_binary());
    command.arg("bare").arg(subject.build_path()).arg(&subject.contract);
    command.args([task.calls.to_string(), task.seed.to_string()]);
    command
}

/// Returns a forge command with runs of a hundred calls each.
fn forge_command(peers: &FuzzPeers, subject: &FuzzSubject, task: FuzzTask) -> Result<Command> {
    let program = peers.forge.as_ref().map_err(|error| anyhow::anyhow!("no forge: {error}"))?;
    // Forge would first replay a remembered failure.
    clear_folder(&subject.forge_folder().join("failures"))?;
    let mut command = peers.command(program)?;
    command.args(["test", "--threads", "1", "--fuzz-seed", &task.seed.to_string()]);
    command.env("FOUNDRY_INVARIANT_RUNS", task.calls.div_ceil(100).to_string());
    command.env("FOUNDRY_INVARIANT_DEPTH", "100").current_dir(subject.forge_folder());
    Ok(command)
}

fn echidna_command(peers: &FuzzPeers, subject: &FuzzSubject, task: FuzzTask) -> Result<Command> {
    let program = peers.echidna.as_ref().map_err(|error| anyhow::anyhow!("no Echidna: {error}"))?;
    let mut command = peers.command(program)?;
    let (folder, source) = subject.echidna_source();
    command.current_dir(folder).arg(source).args(["--contract", &subject.contract]);
    command.args(["--config", "peer.yaml", "--test-limit", &task.calls.to_string()]);
    command.args(["--seed", &task.seed.to_string()]);
    Ok(command)
}

fn clear_folder(folder: &std::path::Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("failed to remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Parses the output of vouch and of the bare loop: an object with the sums and, for vouch, the tests.
fn parse_own_output(stdout: &str) -> Result<ToolOutput> {
    let json: Value = serde_json::from_str(stdout.trim()).context("it printed no JSON")?;
    let tests = json["tests"].as_array().into_iter().flatten();
    let functions = json["gas_info"].as_array();
    let reverts = |functions: &Vec<Value>| {
        functions.iter().filter_map(|function| function["reverts"].as_u64()).sum()
    };
    Ok(ToolOutput {
        calls: Some(json["calls"].as_u64().context("it does not say how many calls it made")?),
        reverts: json["reverts"].as_u64().or_else(|| functions.map(reverts)),
        gas: json["gas"].as_u64(),
        is_broken: tests.into_iter().any(|test| test["verdict"] == "failed"),
    })
}

/// Parses a line such as `[PASS] invariant_holds() (runs: 100, calls: 10000, reverts: 4858)`. It counts complete runs; the
/// length of the run that broke the property is in another line: `[Sequence] (original: 61, shrunk: 61)`.
fn parse_forge_output(stdout: &str) -> Result<ToolOutput> {
    let figure = |line: &str, name: &str| -> Option<u64> {
        let line = stdout.lines().find(|it| it.contains(line))?;
        let (_, rest) = line.split_once(&format!("{name}: "))?;
        rest.split([',', ')']).next()?.parse().ok()
    };
    let sums = "invariant_holds() (runs: ";
    let (calls, reverts) = (figure(sums, "calls"), figure(sums, "reverts"));
    let calls = calls.context("it does not say how many calls it made")?;
    match (stdout.contains("[PASS]"), stdout.contains("[FAIL: broken]")) {
        (true, false) => {
            Ok(ToolOutput { calls: Some(calls), reverts, gas: None, is_broken: false })
        }
        (false, true) => {
            let last = figure("[Sequence]", "original");
            let last = last.context("it does not say how long the last sequence was")?;
            Ok(ToolOutput { calls: Some(calls + last), reverts, gas: None, is_broken: true })
        }
        _ => bail!("it neither passed nor found what is broken"),
    }
}

/// Parses the output of Echidna, which does not report after how many calls a property broke.
fn parse_echidna_output(stdout: &str, calls: u64) -> Result<ToolOutput> {
    let line = stdout.lines().find(|line| line.starts_with('{')).context("it printed no JSON")?;
    let json: Value = serde_json::from_str(line).context("it printed no JSON")?;
    ensure!(json["error"].is_null(), "it could not run: {}", json["error"]);
    let tests = json["tests"].as_array().context("it names no tests")?;
    ensure!(!tests.is_empty(), "it found no test");
    // Echidna reports `fuzzing` if all its calls were one sequence.
    let holds = |test: &Value| matches!(test["status"].as_str(), Some("passed" | "fuzzing"));
    let is_broken = !tests.iter().all(holds);
    let calls = (!is_broken).then_some(calls);
    Ok(ToolOutput { calls, reverts: None, gas: None, is_broken })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_vouch_output() {
        let stdout = r#"{"tests":[{"verdict":"failed"}],"calls":812,"gas":99,
            "gas_info":[{"reverts":3},{"reverts":4}]}"#;
        insta::assert_debug_snapshot!(parse_own_output(stdout).unwrap(), @r"
        ToolOutput {
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
        let holds = parse_own_output(r#"{"tests":[{"verdict":"not-broken"}],"calls":1}"#).unwrap();
        assert!(!holds.is_broken);
        let bare = parse_own_output(r#"{"calls":10,"reverts":2,"gas":3}"#).unwrap();
        let expected =
            ToolOutput { calls: Some(10), reverts: Some(2), gas: Some(3), is_broken: false };
        assert_eq!(bare, expected);
        assert!(parse_own_output("nothing").is_err());
    }

    #[test]
    fn parses_forge_output() {
        let passed = "Ran 1 test for test/A.t.sol:BenchTest\n\
            [PASS] invariant_holds() (runs: 100, calls: 10000, reverts: 4858)\n";
        let expected =
            ToolOutput { calls: Some(10000), reverts: Some(4858), gas: None, is_broken: false };
        assert_eq!(parse_forge_output(passed).unwrap(), expected);
        let failed = "[FAIL: broken]\n\t[Sequence] (original: 61, shrunk: 61)\n\
            \t\tsender=0x01 addr=[src/A.sol:A]0x02 calldata=f() args=[]\n \
            invariant_holds() (runs: 3, calls: 200, reverts: 1)\n";
        let expected =
            ToolOutput { calls: Some(261), reverts: Some(1), gas: None, is_broken: true };
        assert_eq!(parse_forge_output(failed).unwrap(), expected);
        assert!(parse_forge_output("Compiler run failed").is_err());
        let other = failed.replace("broken", "panic: assertion failed (0x01)");
        assert!(parse_forge_output(&other).is_err());
    }

    #[test]
    fn parses_echidna_output() {
        let passed = "Loaded\n{\"tests\":[{\"status\":\"passed\"}],\"error\":null}\n";
        let expected = ToolOutput { calls: Some(2000), ..ToolOutput::default() };
        assert_eq!(parse_echidna_output(passed, 2000).unwrap(), expected);
        let solved = r#"{"tests":[{"status":"solved"}],"error":null}"#;
        assert_eq!(
            parse_echidna_output(solved, 2000).unwrap(),
            ToolOutput { is_broken: true, ..ToolOutput::default() }
        );
        assert!(parse_echidna_output(r#"{"tests":[],"error":null}"#, 1).is_err());
        assert!(parse_echidna_output(r#"{"tests":[{}],"error":"no"}"#, 1).is_err());
    }
}
