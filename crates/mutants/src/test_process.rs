//! Runs some tests of one program, and stops at the first failure.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::compile::TestProgram;
use crate::process_usage::ProcessUsage;

/// How a run of tests ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TestEnd {
    Passed,
    /// A test failed, or the process ended early; the text names the test.
    Failed(String),
    TimedOut,
}

/// What a test process needs besides its program.
pub(crate) struct TestSetting<'a> {
    pub(crate) variables: Vec<(&'a str, String)>,
    pub(crate) temporary: &'a Path,
    pub(crate) threads: usize,
    /// Most seconds of processor time, and most seconds of waiting without using any.
    pub(crate) limit: f64,
}

/// How a run of tests ended, and its processor time or its waiting time, whichever is longer.
pub(crate) struct TestRun {
    pub(crate) end: TestEnd,
    pub(crate) seconds: f64,
}

/// Returns the names of the tests of a program that run without being asked for.
pub(crate) fn list_tests(program: &TestProgram) -> Result<Vec<String>> {
    let list = |more: &[&str]| -> Result<Vec<String>> {
        let mut command = Command::new(&program.path);
        command.args(["--list", "--format", "terse"]).args(more).current_dir(&program.folder);
        let text = xtask::command::read_stdout(command)?;
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    };
    let ignored = list(&["--ignored"])?;
    Ok(list(&[])?.into_iter().filter(|name| !ignored.contains(name)).collect())
}

/// Runs tests in a new process. Its temporary folder is removed afterwards.
pub(crate) fn run_tests(
    program: &TestProgram,
    tests: &[&str],
    setting: &TestSetting<'_>,
) -> Result<TestRun> {
    std::fs::create_dir_all(setting.temporary)?;
    let mut command = Command::new(&program.path);
    command
        .arg("--exact")
        .args(["--test-threads", &setting.threads.to_string()])
        .args(tests)
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .env("TMPDIR", setting.temporary)
        .env("INSTA_UPDATE", "no")
        .env("INSTA_WORKSPACE_ROOT", program.folder.join("../.."))
        .env("PROPTEST_RNG_SEED", "1")
        // The smallest failing input is not needed.
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .env("RUST_BACKTRACE", "0")
        .env_remove("CARGO")
        .env_remove("RUST_LOG")
        .envs(setting.variables.iter().map(|(name, value)| (*name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    let mut child =
        command.spawn().with_context(|| format!("failed to start {}", program.path.display()))?;
    let (end, waited) = wait_for_end(&mut child, setting.limit);
    // A test that fails leaves the programs that it started.
    if let Some(group) = Pid::from_raw(child.id() as i32) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(Pid::from_child(&child)), ended).context("failed to wait for tests")?;
    let used = ProcessUsage::of_ended(child.id()).seconds;
    child.wait().context("failed to wait for tests")?;
    let _ = std::fs::remove_dir_all(setting.temporary);
    Ok(TestRun { end, seconds: used.max(waited) })
}

/// How long the output of a test is awaited at once.
const TICK: Duration = Duration::from_millis(250);

/// Returns how tests ended, and how long they waited without using the processor.
fn wait_for_end(child: &mut Child, limit: f64) -> (TestEnd, f64) {
    let stdout = child.stdout.take().expect("stdout is piped");
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let mut last = String::new();
    let mut waited = 0.0;
    loop {
        match lines.recv_timeout(TICK) {
            Ok(line) => {
                if let Some(name) = failed_test(&line) {
                    return (TestEnd::Failed(name.to_owned()), waited);
                }
                if line.starts_with("test result: ok") {
                    return (TestEnd::Passed, waited);
                }
                last = line;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let usage = ProcessUsage::of_group(child.id());
                waited += if usage.is_runnable { 0.0 } else { TICK.as_secs_f64() };
                if waited > limit || usage.seconds > limit {
                    return (TestEnd::TimedOut, waited);
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return (TestEnd::Failed(format!("process ended: {last}")), waited);
            }
        }
    }
}

/// Returns the test that a line of the test program reports as failed.
fn failed_test(line: &str) -> Option<&str> {
    let name = line.strip_prefix("test ")?.strip_suffix("FAILED")?;
    name.split(" ... ").next().map(|name| name.trim_end_matches(" - should panic"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_failed_tests() {
        assert_eq!(failed_test("test a::b ... FAILED"), Some("a::b"));
        assert_eq!(failed_test("test a::b - should panic ... FAILED"), Some("a::b"));
        assert_eq!(failed_test("test a::b ... ok"), None);
        assert_eq!(failed_test("test result: FAILED. 1 passed; 1 failed"), None);
    }
}
