//! A program, run to its end or to its limit of processor time, and what it used.
//!
//! The shell takes the time: it has what the kernel counts for a process and those that it waited for, to the
//! millisecond, and it can set the limit. `/proc` ticks only a hundred times a second.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};

/// Sets limits that children inherit, then says on the last line how long the program ran in user and in kernel mode.
/// The hard limit is for those that catch the signal of the soft one.
const SCRIPT: &str = r#"
ulimit -c 0; ulimit -S -t "$1"; ulimit -H -t $(($1 + 2)); shift
TIMEFORMAT='%3U %3S'; time "$@"
"#;

/// What a shell says of a child that a signal ended: 128 and SIGXCPU or SIGKILL.
const OUT_OF_TIME: [i32; 2] = [128 + 24, 128 + 9];

/// What a program that ended left.
#[derive(Debug)]
pub(super) struct Ran {
    /// Seconds of processor time, those of processes that it started and waited for included.
    pub(super) cpu: f64,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Exited(i32),
    /// It was ended because it had used what it may.
    OutOfTime,
}

/// Runs the command with that many seconds of processor time for each of its processes.
pub(super) fn run(command: &Command, seconds: u64) -> Result<Ran> {
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
    let output = shell.stdin(Stdio::null()).output().context("cannot start `bash`")?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let cpu = times(&stderr).with_context(|| {
        let program = command.get_program().to_string_lossy();
        format!("no time was taken of `{program}`; it said:\n{}", ending(&stderr))
    })?;
    let end = match output.status.code() {
        Some(code) if OUT_OF_TIME.contains(&code) => End::OutOfTime,
        code => End::Exited(code.unwrap_or(-1)),
    };
    Ok(Ran { cpu, stdout: String::from_utf8_lossy(&output.stdout).into_owned(), stderr, end })
}

impl Ran {
    /// For an error: how it ended and the last that it said.
    pub(super) fn told(&self) -> String {
        let said = if self.stderr.trim().lines().count() > 1 { &self.stderr } else { &self.stdout };
        format!("{:?}: {}", self.end, ending(said))
    }
}

/// The sum of the last line with two times.
fn times(stderr: &str) -> Option<f64> {
    let line = |line: &str| -> Option<f64> {
        let (user, kernel) = line.split_once(' ')?;
        Some(seconds(user)? + seconds(kernel)?)
    };
    stderr.lines().rev().find_map(line)
}

/// Some locales write a comma.
fn seconds(text: &str) -> Option<f64> {
    text.replace(',', ".").parse().ok()
}

fn ending(text: &str) -> String {
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
    fn times_are_on_the_last_line_that_has_two() {
        assert_eq!(times("1.000 2.000\nnoise here\n0.250 0.125\n"), Some(0.375));
        assert_eq!(times("0.250 0.125\nbash: line 3: CPU time limit exceeded\n"), Some(0.375));
        assert_eq!(times("0,250 0,125"), Some(0.375));
        assert_eq!(times("nothing\n\n3 apples\n"), None);
    }

    #[test]
    fn a_program_is_ended_when_its_time_is_used_and_what_it_said_is_kept() {
        let mut endless = Command::new("bash");
        endless.args(["-c", "echo begun; while :; do :; done"]);
        let ran = run(&endless, 1).unwrap();
        assert_eq!((ran.end, ran.stdout.as_str()), (End::OutOfTime, "begun\n"));
        assert!(ran.cpu >= 0.9, "{}", ran.cpu);
    }

    #[test]
    fn an_exit_code_is_told_with_the_last_words() {
        let mut failing = Command::new("bash");
        failing.args(["-c", "echo one >&2; echo $'t\\ao' >&2; exit 3"]);
        let ran = run(&failing, 10).unwrap();
        assert_eq!(ran.end, End::Exited(3));
        assert!(ran.told().starts_with("Exited(3): one\nto\n"), "{}", ran.told());
    }
}
