//! Runs a program to its end or to its limit of processor time, and measures what it used.
//!
//! The shell takes the time: it gets what the kernel counts for a process and its children, to the millisecond, and it
//! can set the limit. `/proc` ticks only a hundred times a second.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};

/// Sets limits that children inherit, then prints user and kernel time on the last line. The hard limit ends programs
/// that catch the signal of the soft one.
const SCRIPT: &str = r#"
ulimit -c 0; ulimit -S -t "$1"; ulimit -H -t $(($1 + 2)); shift
TIMEFORMAT='%3U %3S'; time "$@"
"#;

/// Exit codes of the shell for a child ended by a signal: 128 plus SIGXCPU or SIGKILL.
const OUT_OF_TIME: [i32; 2] = [128 + 24, 128 + 9];

/// Output and usage of a program that has ended.
#[derive(Debug)]
pub(super) struct MeasuredRun {
    /// Seconds of processor time, including children that it waited for.
    pub(super) cpu: f64,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) end: RunEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunEnd {
    Exited(i32),
    /// Ended because it used up its processor time.
    OutOfTime,
}

/// Runs the command with that many seconds of processor time for each of its processes.
pub(super) fn run_measured(command: &Command, seconds: u64) -> Result<MeasuredRun> {
    let mut shell = Command::new("bash");
    shell.args(["-c", SCRIPT, "bench", &seconds.to_string()]);
    shell.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let output = shell.stdin(Stdio::null()).output().context("failed to start `bash`")?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let cpu = parse_times(&stderr).with_context(|| {
        let program = command.get_program().to_string_lossy();
        format!("no time was measured for `{program}`; its output:\n{}", last_lines(&stderr))
    })?;
    let end = match output.status.code() {
        Some(code) if OUT_OF_TIME.contains(&code) => RunEnd::OutOfTime,
        code => RunEnd::Exited(code.unwrap_or(-1)),
    };
    Ok(MeasuredRun {
        cpu,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr,
        end,
    })
}

impl MeasuredRun {
    /// Returns how it ended and its last lines of output, for errors.
    pub(super) fn describe(&self) -> String {
        let said = if self.stderr.trim().lines().count() > 1 { &self.stderr } else { &self.stdout };
        format!("{:?}: {}", self.end, last_lines(said))
    }
}

/// Returns the sum of the last line that has two times.
fn parse_times(stderr: &str) -> Option<f64> {
    let line = |line: &str| -> Option<f64> {
        let (user, kernel) = line.split_once(' ')?;
        Some(parse_seconds(user)? + parse_seconds(kernel)?)
    };
    stderr.lines().rev().find_map(line)
}

/// Parses seconds; some locales write a comma.
fn parse_seconds(text: &str) -> Option<f64> {
    text.replace(',', ".").parse().ok()
}

fn last_lines(text: &str) -> String {
    const LINES: usize = 8;
    const COLUMNS: usize = 300;
    let lines: Vec<&str> = text.trim().lines().collect();
    let last = lines[lines.len().saturating_sub(LINES)..].iter();
    let plain = |line: &&str| -> String {
        line.chars().filter(|char| !char.is_control()).take(COLUMNS).collect()
    };
    last.map(plain).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_last_line_with_two_times() {
        assert_eq!(parse_times("1.000 2.000\nnoise here\n0.250 0.125\n"), Some(0.375));
        assert_eq!(
            parse_times("0.250 0.125\nbash: line 3: CPU time limit exceeded\n"),
            Some(0.375)
        );
        assert_eq!(parse_times("0,250 0,125"), Some(0.375));
        assert_eq!(parse_times("nothing\n\n3 apples\n"), None);
    }

    #[test]
    fn ends_program_at_time_limit_and_keeps_its_output() {
        let mut endless = Command::new("bash");
        endless.args(["-c", "echo begun; while :; do :; done"]);
        let ran = run_measured(&endless, 1).unwrap();
        assert_eq!((ran.end, ran.stdout.as_str()), (RunEnd::OutOfTime, "begun\n"));
        // The kernel ends it at one second by its own clock, which counts ticks; the accounted time may be much less on a
        // busy machine.
        assert!(ran.cpu > 0.0, "{}", ran.cpu);
    }

    #[test]
    fn describes_exit_code_with_last_lines() {
        let mut failing = Command::new("bash");
        failing.args(["-c", "echo one >&2; echo $'t\\ao' >&2; exit 3"]);
        let ran = run_measured(&failing, 10).unwrap();
        assert_eq!(ran.end, RunEnd::Exited(3));
        assert!(ran.describe().starts_with("Exited(3): one\nto\n"), "{}", ran.describe());
    }
}
