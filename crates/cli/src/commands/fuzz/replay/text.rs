//! Replay results as text: each call with its nested calls as a tree, its result, and the tests that fail after it.

use std::io::{Result, Write};

use ::fuzz::trace::{CallExecution, LineTone, TraceLine, TracedCall};
use anstyle::Style;
use contract::text::one_line;

use super::evaluate::{FailedTest, ReplayVerdict};
use crate::ui::{DIM, ERROR, GOOD, WARN};

/// Maximum bytes of a printed call.
const MAX_CALL_BYTES: usize = 300;

pub(super) fn print_replay(
    out: &mut impl Write,
    replayed: &[TracedCall],
    judged: Option<&ReplayVerdict>,
) -> Result<()> {
    let broken = judged.map_or(&[][..], |judged| &judged.broken);
    if replayed.is_empty() {
        writeln!(out, "{DIM}the file has no calls{DIM:#}")?;
    }
    print_failing_tests(out, broken, 0)?;
    for (index, call) in replayed.iter().enumerate() {
        writeln!(out, "{}. {}", index + 1, format_call(&call.line))?;
        if let Some(done) = &call.done {
            print_trace(out, done, 1)?;
        }
        print_failing_tests(out, broken, index + 1)?;
    }
    let Some(judged) = judged else { return Ok(()) };
    for (name, value) in &judged.reached {
        writeln!(out, "{}: {GOOD}reached {value}{GOOD:#}", one_line(name))?;
    }
    for (name, reason) in &judged.not_run {
        writeln!(out, "{}: {WARN}NOT RUN: {}{WARN:#}", one_line(name), one_line(reason))?;
    }
    let is_complete = super::find_not_run_reason(replayed, judged).is_none();
    if judged.broken.is_empty() && judged.reached.is_empty() && is_complete {
        writeln!(out, "{GOOD}no test fails{GOOD:#}")?;
    }
    Ok(())
}

/// Prints the tests that fail after this number of calls, with their traces.
fn print_failing_tests(out: &mut impl Write, broken: &[FailedTest], after: usize) -> Result<()> {
    for FailedTest { name, location, done, .. } in broken.iter().filter(|it| it.after == after) {
        let location =
            location.as_ref().map(|location| format!(" at {location}")).unwrap_or_default();
        writeln!(out, "   {ERROR}{} fails{ERROR:#}{}", one_line(name), one_line(&location))?;
        if let Some(done) = done {
            print_trace(out, done, 2)?;
        }
    }
    Ok(())
}

/// Prints the trace of a call, indented by `level`.
fn print_trace(out: &mut impl Write, done: &CallExecution, level: usize) -> Result<()> {
    for TraceLine { level: within, parts } in done.lines() {
        write!(out, "{:indent$}", "", indent = 1 + 2 * (level + within))?;
        for (tone, text) in parts {
            let style = tone_style(tone);
            write!(out, "{style}{}{style:#}", one_line(&text))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn tone_style(tone: LineTone) -> Style {
    match tone {
        LineTone::Plain => Style::new(),
        LineTone::Quiet => DIM,
        LineTone::Bad => WARN,
    }
}

/// Returns a call as one line that is safe for a terminal, truncated to [`MAX_CALL_BYTES`].
fn format_call(text: &str) -> String {
    let mut line = one_line(text);
    if line.len() > MAX_CALL_BYTES {
        let all = line.len();
        line.truncate(line.floor_char_boundary(MAX_CALL_BYTES));
        line.push_str(&format!("… ({} more bytes)", all - line.len()));
    }
    line
}
