//! A replay for people: each call, the calls within it as a tree, what came back, and the tests that fail.

use std::io::{Result, Write};

use ::fuzz::trace::{Done, Line, Tone, Traced};
use anstyle::Style;
use contract::text::one_line;

use super::judge::{Broken, Judged};
use crate::ui::{DIM, ERROR, GOOD, WARN};

/// Letters of a call, after which it says nothing that a person would read.
const MAX_LETTERS: usize = 300;

pub(super) fn print(
    out: &mut impl Write,
    replayed: &[Traced],
    judged: Option<&Judged>,
) -> Result<()> {
    let broken = judged.map_or(&[][..], |judged| &judged.broken);
    if replayed.is_empty() {
        writeln!(out, "{DIM}the file has no calls{DIM:#}")?;
    }
    failing(out, broken, 0)?;
    for (index, call) in replayed.iter().enumerate() {
        writeln!(out, "{}. {}", index + 1, line(&call.line))?;
        if let Some(done) = &call.done {
            doing(out, done, 1)?;
        }
        failing(out, broken, index + 1)?;
    }
    let Some(judged) = judged else { return Ok(()) };
    for (name, value) in &judged.reached {
        writeln!(out, "{}: {GOOD}reached {value}{GOOD:#}", one_line(name))?;
    }
    if judged.broken.is_empty() && judged.reached.is_empty() {
        writeln!(out, "{GOOD}no test fails{GOOD:#}")?;
    }
    Ok(())
}

/// The tests that fail once so many calls were made, and what they do then.
fn failing(out: &mut impl Write, broken: &[Broken], after: usize) -> Result<()> {
    for Broken { name, place, done, .. } in broken.iter().filter(|it| it.after == after) {
        let place = place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
        writeln!(out, "   {ERROR}{} fails{ERROR:#}{}", one_line(name), one_line(&place))?;
        if let Some(done) = done {
            doing(out, done, 2)?;
        }
    }
    Ok(())
}

/// What a call did, at this level below the line that names it.
fn doing(out: &mut impl Write, done: &Done, level: usize) -> Result<()> {
    for Line { level: within, parts } in done.lines() {
        write!(out, "{:indent$}", "", indent = 1 + 2 * (level + within))?;
        for (tone, text) in parts {
            let style = style(tone);
            write!(out, "{style}{}{style:#}", one_line(&text))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Quiet => DIM,
        Tone::Bad => WARN,
    }
}

/// Safe for a terminal, and not without end.
fn line(text: &str) -> String {
    let mut line = one_line(text);
    if line.len() > MAX_LETTERS {
        let all = line.len();
        line.truncate(line.floor_char_boundary(MAX_LETTERS));
        line.push_str(&format!("… ({} letters more)", all - line.len()));
    }
    line
}
