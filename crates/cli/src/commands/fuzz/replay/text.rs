//! A replay for people: each call, the calls within it as a tree, what came back, and the tests that fail.

use std::io::{Result, Write};

use contract::text::one_line;

use super::again::{Done, Replayed};
use super::judge::{Broken, Judged};
use super::trace::{End, Event, Told, Trace, short};
use crate::ui::{DIM, ERROR, GOOD, WARN};

/// Calls within a call that are shown, and how deep; `--json` has more of them.
const MAX_SHOWN: usize = 100;
const MAX_DEPTH: usize = 12;
const MAX_EVENTS: usize = 20;
/// Letters of a line, after which it says nothing that a person would read.
const MAX_LETTERS: usize = 300;

pub(super) fn print(
    out: &mut impl Write,
    replayed: &[Replayed],
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
    let Trace { frames, events, frames_left_out, events_left_out } = &done.trace;
    let Some((first, within)) = frames.split_first() else { return Ok(()) };
    tree(out, within, *frames_left_out, level)?;
    let indent = indent(level);
    for event in events.iter().take(MAX_EVENTS) {
        let undone = if done.is_success() { "" } else { ", undone" };
        writeln!(out, "{indent}{DIM}emitted{DIM:#} {}{undone}", line(&emitted(event)))?;
    }
    let more = events.len().saturating_sub(MAX_EVENTS) + events_left_out;
    if more > 0 {
        writeln!(out, "{indent}{DIM}… and {more} events more{DIM:#}")?;
    }
    let gas = done.outcome.gas_used;
    match (&first.end, done.is_success()) {
        _ if done.outcome.is_discarded() => {
            writeln!(out, "{indent}{WARN}discarded by vm.assume{WARN:#}")
        }
        (End::Failed(reason), _) => {
            writeln!(out, "{indent}{WARN}{}{WARN:#}, {gas} gas", line(reason))
        }
        (_, true) => {
            writeln!(out, "{indent}{DIM}returned {}, {gas} gas{DIM:#}", line(&given(first)))
        }
        (_, false) => writeln!(out, "{indent}{WARN}did not end{WARN:#}, {gas} gas"),
    }
}

/// The calls within a call. One that makes no others is a line, with what it returned.
fn tree(out: &mut impl Write, frames: &[Told], left_out: usize, level: usize) -> Result<()> {
    let indent = |depth: usize| indent(level + depth.saturating_sub(1));
    let mut open: Vec<&Told> = Vec::new();
    let mut deeper = 0;
    for (index, frame) in frames.iter().take(MAX_SHOWN).enumerate() {
        if frame.depth > MAX_DEPTH {
            deeper += 1;
            continue;
        }
        skipped(out, &indent(MAX_DEPTH + 1), &mut deeper)?;
        while let Some(ended) = open.pop_if(|open| open.depth >= frame.depth) {
            writeln!(out, "{}{}", indent(ended.depth), end(ended))?;
        }
        let is_leaf = frames.get(index + 1).is_none_or(|next| next.depth <= frame.depth);
        let call = line(&called(frame));
        match is_leaf {
            true => writeln!(out, "{}{call} {}", indent(frame.depth), end(frame))?,
            false => {
                writeln!(out, "{}{call}", indent(frame.depth))?;
                open.push(frame);
            }
        }
    }
    skipped(out, &indent(MAX_DEPTH + 1), &mut deeper)?;
    while let Some(ended) = open.pop() {
        writeln!(out, "{}{}", indent(ended.depth), end(ended))?;
    }
    let more = frames.len().saturating_sub(MAX_SHOWN) + left_out;
    if more > 0 {
        writeln!(out, "{}{DIM}… and {more} calls more{DIM:#}", indent(1))?;
    }
    Ok(())
}

fn skipped(out: &mut impl Write, indent: &str, deeper: &mut usize) -> Result<()> {
    match std::mem::take(deeper) {
        0 => Ok(()),
        count => writeln!(out, "{indent}{DIM}… {count} calls deeper{DIM:#}"),
    }
}

fn indent(level: usize) -> String {
    " ".repeat(1 + 2 * level)
}

fn called(frame: &Told) -> String {
    let kind = match frame.kind {
        "call" => String::new(),
        "create" | "create2" => "new ".to_owned(),
        kind => format!("{kind} "),
    };
    let address = frame.code.or(frame.to).map(|address| address.to_string());
    let name = frame.contract.clone().or(address).unwrap_or_else(|| "a contract".to_owned());
    let value = match frame.value.is_zero() {
        true => String::new(),
        false => format!("{{value: {}}}", frame.value),
    };
    if kind == "new " {
        let place = frame.to.map(|address| format!(" at {address}")).unwrap_or_default();
        return format!("new {name}{value}{place}");
    }
    match (&frame.function, &frame.arguments) {
        (Some(function), Some(arguments)) => {
            format!("{kind}{name}.{function}{value}({})", arguments.join(", "))
        }
        _ if frame.input.is_empty() => format!("{kind}{name}.*fallback*{value}()"),
        _ => format!("{kind}{name}.*fallback*{value}({})", short(&frame.input)),
    }
}

fn end(frame: &Told) -> String {
    let gas = frame.gas;
    match &frame.end {
        End::Returned(_) => format!("{DIM}→ {}, {gas} gas{DIM:#}", line(&given(frame))),
        End::Failed(reason) => format!("{WARN}→ {}{WARN:#}, {gas} gas", line(reason)),
        End::Unknown => format!("{WARN}→ did not end{WARN:#}"),
    }
}

/// What a frame gave back.
fn given(frame: &Told) -> String {
    match &frame.end {
        End::Returned(Some(values)) if values.len() == 1 => values[0].clone(),
        End::Returned(Some(values)) => format!("({})", values.join(", ")),
        _ if frame.output.is_empty() => "nothing".to_owned(),
        _ if frame.kind.starts_with("create") => format!("{} bytes of code", frame.output.len()),
        _ => short(&frame.output),
    }
}

fn emitted(event: &Event) -> String {
    let contract = event.contract.clone().unwrap_or_else(|| event.address.to_string());
    let values = event.values.iter().map(|value| value.as_deref().unwrap_or("indexed"));
    format!("{contract}.{}({})", event.name, values.collect::<Vec<_>>().join(", "))
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
