//! One run of vouch on a public target: starts the process or continues an earlier one, and stops it when its processor
//! time is used up.
//!
//! The time is that of the process itself; the compiler is a child and does not count. Time begins when fuzzing begins.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::record::{RunRecord, RunSegment, function_name};
use super::targets::{HARNESS, PublicTarget, SETTINGS};
use crate::fuzz::daedaluzz::CALLS;
use crate::fuzz::tools::vouch_binary;
use crate::process::cpu_seconds;

/// Interval between looks at the processor time.
const TICK: Duration = Duration::from_millis(50);
/// Interval between writes of the record.
const SAVE_PERIOD: Duration = Duration::from_secs(5);
/// Processor time for shrinking after the time is used up; then the process is told to end at once.
const SHRINK_SECONDS: f64 = 60.0;
/// Processor time that the kernel grants beyond the limits: it ends a process whose benchmark was killed.
const SPARE_SECONDS: f64 = 600.0;
/// Distance between the seeds of the processes of one run: they would otherwise begin with the same calls.
const SEED_STEP: u64 = 1_000_000;

/// A run and the folder that keeps it.
pub(super) struct PublicRun<'a> {
    pub(super) target: &'static PublicTarget,
    pub(super) sources: &'a Path,
    pub(super) seed: u64,
    pub(super) folder: PathBuf,
    /// Cache with the compilers and their output.
    pub(super) cache: &'a Path,
}

impl PublicRun<'_> {
    fn record_path(&self) -> PathBuf {
        self.folder.join("run.json")
    }

    pub(super) fn corpus(&self) -> PathBuf {
        self.folder.join("corpus")
    }

    /// Runs until the processor time is used up, counting that of earlier processes. The inner error is the reason why
    /// vouch could not run.
    pub(super) fn run_until(&self, budget: f64) -> Result<Result<RunRecord, String>> {
        let failed = || format!("failed to create {}", self.folder.display());
        std::fs::create_dir_all(&self.folder).with_context(failed)?;
        let mut record = RunRecord::load(&self.record_path())?;
        // Processes that ended before they began to fuzz must not change the seed.
        record.segments.retain(|segment| segment.cpu > 0.0);
        if record.cpu() >= budget || record.end.is_some() {
            return Ok(Ok(record));
        }
        let earlier = record.cpu();
        record.segments.push(RunSegment::default());
        let mut watch = RunWatch { record, earlier, budget, state: RunState::Loading };
        let told = self.watch_process(&mut watch)?;
        watch.finish(&told);
        if let RunState::Loading = watch.state {
            return Ok(Err(describe_error(&told.stderr)));
        }
        watch.record.save(&self.record_path())?;
        if told.results.is_none() {
            let reason = describe_error(&told.stderr);
            return Ok(Err(format!("ended after {:.0} CPU-seconds: {reason}", watch.record.cpu())));
        }
        Ok(Ok(watch.record))
    }

    fn command(&self, record: &RunRecord, budget: f64) -> Command {
        let limit = (budget - record.cpu() + SHRINK_SECONDS + SPARE_SECONDS).ceil();
        let earlier = record.segments.len().saturating_sub(1) as u64;
        let seed = self.seed + earlier * SEED_STEP;
        // `exec` keeps the process id.
        let mut shell = Command::new("bash");
        shell.args(["-c", r#"ulimit -c 0; ulimit -t "$1"; shift; exec "$@""#, "bench"]);
        shell.arg(limit.to_string()).arg(vouch_binary());
        shell.args(["fuzz", self.target.file, "--contract", HARNESS, "--config", SETTINGS]);
        shell.args(["--json", "--install-solc", "--color", "never", "--workers", "1"]);
        shell.args(["--test-limit", CALLS, "--seed", &seed.to_string()]);
        shell.arg("--corpus-dir").arg(self.corpus());
        shell.current_dir(self.sources).env("XDG_CACHE_HOME", self.cache).env("VOUCH_TRUST", "1");
        shell
    }

    /// Starts the process and waits for its end.
    fn watch_process(&self, watch: &mut RunWatch) -> Result<ProcessOutput> {
        let mut command = self.command(&watch.record, watch.budget);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = FuzzProcess(command.spawn().context("failed to start vouch")?);
        let stdout = process.0.stdout.take().context("vouch has no standard output")?;
        let stderr = process.0.stderr.take().context("vouch has no standard error")?;
        let results = thread::spawn(move || {
            let mut text = String::new();
            BufReader::new(stdout).read_to_string(&mut text).map(|_| text)
        });
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(stderr).lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        let stderr = self.follow_lines(&process.0, &lines, watch)?;
        process.0.wait().context("failed to wait for vouch")?;
        let text = results.join().ok().and_then(Result::ok).unwrap_or_default();
        Ok(ProcessOutput { results: serde_json::from_str(&text).ok(), stderr })
    }

    /// Follows what the process prints until it closes its output. Stops it in time. Returns its lines.
    fn follow_lines(
        &self,
        process: &Child,
        lines: &Receiver<String>,
        watch: &mut RunWatch,
    ) -> Result<Vec<String>> {
        let mut seen = Vec::new();
        let mut saved = Instant::now();
        loop {
            let line = match lines.recv_timeout(TICK) {
                Ok(line) => Some(line),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(seen),
            };
            // The figures of a process that has ended are gone once it was waited for, which happens later.
            let cpu = cpu_seconds(process.id())?;
            let is_news = line.as_ref().is_some_and(|line| watch.read_line(line, cpu));
            seen.extend(line);
            if watch.observe_time(cpu) {
                interrupt(process)?;
            }
            let is_due = watch.state != RunState::Loading && saved.elapsed() > SAVE_PERIOD;
            if is_news || is_due {
                watch.record.save(&self.record_path())?;
                saved = Instant::now();
            }
        }
    }
}

/// A process that is killed if the benchmark gives up.
struct FuzzProcess(Child);

impl Drop for FuzzProcess {
    fn drop(&mut self) {
        // Has no effect on a process that was waited for.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Asks the process to stop, as Ctrl-C does.
fn interrupt(process: &Child) -> Result<()> {
    let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
    kill_process(id.context("invalid process id")?, Signal::INT).context("failed to stop vouch")
}

/// What a process printed.
struct ProcessOutput {
    results: Option<Value>,
    stderr: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum RunState {
    /// Compiles, loads and deploys.
    Loading,
    /// Fuzzes since this processor time.
    Fuzzing(f64),
    /// Was asked at this processor time to stop, and shrinks.
    Stopping(f64),
    /// Was asked to stop at once.
    Killed,
}

/// Keeps the record of a run while its process works.
struct RunWatch {
    record: RunRecord,
    /// Processor time of earlier processes.
    earlier: f64,
    budget: f64,
    state: RunState,
}

impl RunWatch {
    /// Reads a line that the process printed at this processor time. Returns true if a test failed first.
    fn read_line(&mut self, line: &str, cpu: f64) -> bool {
        match self.state {
            RunState::Loading if line.starts_with("fuzzing ") => {
                self.state = RunState::Fuzzing(cpu);
                false
            }
            RunState::Fuzzing(began) => parse_failure(line)
                .is_some_and(|test| self.record.note_failure(test, self.earlier + cpu - began)),
            // What is found after the time is used up does not count.
            RunState::Loading | RunState::Stopping(_) | RunState::Killed => false,
        }
    }

    /// Notes the processor time. Returns true if the process must be asked to stop.
    fn observe_time(&mut self, cpu: f64) -> bool {
        match self.state {
            RunState::Fuzzing(began) => {
                if let Some(segment) = self.record.segments.last_mut() {
                    segment.cpu = cpu - began;
                }
                let is_over = self.earlier + cpu - began >= self.budget;
                if is_over {
                    self.state = RunState::Stopping(cpu);
                }
                is_over
            }
            RunState::Stopping(since) if cpu - since > SHRINK_SECONDS => {
                self.state = RunState::Killed;
                true
            }
            RunState::Loading | RunState::Stopping(_) | RunState::Killed => false,
        }
    }

    /// Takes over the results of a process that has ended.
    fn finish(&mut self, told: &ProcessOutput) {
        let Some(results) = &told.results else { return };
        self.record.add_results(results);
        if let RunState::Fuzzing(_) = self.state {
            let reason = results["endReason"].as_str().unwrap_or("for an unknown reason");
            self.record.end = Some(reason.to_owned());
        }
    }
}

/// Returns the function in a line such as `failed: invariant_solvent() after 3 calls`.
fn parse_failure(line: &str) -> Option<&str> {
    let (test, _) = line.strip_prefix("failed: ")?.rsplit_once(" after ")?;
    Some(function_name(test))
}

/// Returns the error that vouch printed, on one line.
fn describe_error(stderr: &[String]) -> String {
    const CHARS: usize = 500;
    let error = stderr.iter().position(|line| line.starts_with("error: "));
    let lines = match error {
        Some(at) => &stderr[at..],
        None => &stderr[stderr.len().saturating_sub(3)..],
    };
    let lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join("; ");
    match text.is_empty() {
        true => "vouch ended without a message".to_owned(),
        false => text.chars().filter(|char| !char.is_control()).take(CHARS).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(earlier: f64, budget: f64) -> RunWatch {
        let segments = vec![RunSegment { cpu: earlier, calls: None }, RunSegment::default()];
        let record = RunRecord { segments, ..RunRecord::default() };
        RunWatch { record, earlier, budget, state: RunState::Loading }
    }

    #[test]
    fn time_of_loading_does_not_count_and_earlier_time_does() {
        let mut watch = watch(30.0, 60.0);
        assert!(!watch.observe_time(50.0));
        assert!(!watch.read_line("fuzzing CryticTester with seed 1", 50.0));
        assert!(watch.read_line("failed: invariant_canary() after 1 call", 50.5));
        assert!(watch.read_line("failed: testTransfer(uint8,uint8) after 12 calls", 52.0));
        assert!(!watch.read_line("failed: testTransfer(uint8,uint8) after 9 calls", 53.0));
        assert_eq!(watch.record.failures["testTransfer"], 32.0);
        assert!(!watch.observe_time(79.9));
        assert!(watch.observe_time(80.0));
        assert_eq!(watch.record.cpu(), 60.0);
    }

    #[test]
    fn failures_after_the_time_is_used_up_do_not_count() {
        let mut watch = watch(0.0, 10.0);
        watch.read_line("fuzzing CryticTester with seed 1", 1.0);
        assert!(watch.observe_time(11.0));
        assert!(!watch.read_line("failed: late() after 2 calls", 11.5));
        assert!(!watch.observe_time(70.0));
        assert!(watch.observe_time(71.5), "shrinking has a limit");
        assert!(!watch.observe_time(90.0), "it is asked once");
        assert!(watch.record.failures.is_empty());
        assert_eq!(watch.record.cpu(), 10.0);
    }

    #[test]
    fn only_campaign_that_ends_by_itself_has_a_reason() {
        let results = serde_json::json!({"calls": 5, "tests": [], "endReason": "all tests failed"});
        let told = ProcessOutput { results: Some(results), stderr: Vec::new() };
        let mut early = watch(0.0, 10.0);
        early.read_line("fuzzing CryticTester with seed 1", 1.0);
        early.finish(&told);
        assert_eq!(early.record.end.as_deref(), Some("all tests failed"));
        let mut stopped = watch(0.0, 10.0);
        stopped.read_line("fuzzing CryticTester with seed 1", 1.0);
        stopped.observe_time(11.0);
        stopped.finish(&told);
        assert_eq!(stopped.record.end, None);
        assert_eq!(stopped.record.segments[1].calls, Some(5));
    }

    #[test]
    fn run_with_time_used_up_is_not_continued() {
        let folder = tempfile::tempdir().unwrap();
        let run = PublicRun {
            target: &super::super::targets::TARGETS[0],
            sources: Path::new("absent"),
            seed: 1,
            folder: folder.path().join("aave-v4-459b020-1"),
            cache: folder.path(),
        };
        std::fs::create_dir(&run.folder).unwrap();
        let segments = vec![RunSegment { cpu: 61.0, calls: Some(9) }];
        let record = RunRecord { segments, ..RunRecord::default() };
        record.save(&run.record_path()).unwrap();
        assert_eq!(run.run_until(60.0).unwrap(), Ok(record.clone()));
        // The next process begins with other calls.
        let mut continued = record;
        continued.segments.push(RunSegment::default());
        let command = run.command(&continued, 120.0);
        let arguments: Vec<_> = command.get_args().filter_map(|it| it.to_str()).collect();
        assert!(arguments.windows(2).any(|pair| pair == ["--seed", "1000001"]), "{arguments:?}");
    }

    #[test]
    fn error_of_vouch_is_one_line() {
        let lines =
            ["warning: a", "error: invalid configuration in echidna.yaml", "  why: line 10"];
        let lines = lines.map(ToOwned::to_owned);
        assert_eq!(
            describe_error(&lines),
            "error: invalid configuration in echidna.yaml; why: line 10"
        );
        assert_eq!(describe_error(&[]), "vouch ended without a message");
    }
}
