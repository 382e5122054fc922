//! What a call did, as lines: the calls within it as a tree, the events, and how it ended.
//!
//! A line says how each of its parts is meant, so that whoever shows it can choose colours; without them the words suffice.

use std::fmt;

use super::decode::{End, Event, Told, Trace, short};
use super::tracer::Done;

/// Calls within a call that are shown, and how deep; the [`Trace`] has more of them.
const MAX_SHOWN: usize = 100;
const MAX_DEPTH: usize = 12;
const MAX_EVENTS: usize = 20;
/// Letters of a part, after which it says nothing that a person would read.
const MAX_LETTERS: usize = 300;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// How far it is indented; 0 belongs to the call itself.
    pub level: usize,
    pub parts: Vec<(Tone, String)>,
}

/// How a part of a line is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    /// Of less interest than the rest.
    Quiet,
    /// Something went wrong.
    Bad,
}

impl Line {
    fn new(level: usize, tone: Tone, text: impl Into<String>) -> Self {
        Self { level, parts: Vec::new() }.and(tone, text)
    }

    fn and(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.parts.push((tone, text.into()));
        self
    }

    fn join(mut self, parts: Vec<(Tone, String)>) -> Self {
        self.parts.extend(parts);
        self
    }
}

impl fmt::Display for Line {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:indent$}", "", indent = 2 * self.level)?;
        self.parts.iter().try_for_each(|(_, text)| out.write_str(text))
    }
}

pub(super) fn of(done: &Done) -> Vec<Line> {
    let Trace { frames, events, frames_left_out, events_left_out } = &done.trace;
    let Some((first, within)) = frames.split_first() else { return Vec::new() };
    let mut lines = Tree::default().grow(within, *frames_left_out);
    let undone = if done.is_success() { "" } else { ", undone" };
    lines.extend(events.iter().take(MAX_EVENTS).map(|event| {
        let text = format!(" {}{undone}", shortened(emitted(event)));
        Line::new(0, Tone::Quiet, "emitted").and(Tone::Plain, text)
    }));
    let more = events.len().saturating_sub(MAX_EVENTS) + events_left_out;
    if more > 0 {
        lines.push(Line::new(0, Tone::Quiet, format!("… and {more} events more")));
    }
    lines.push(ending(done, first));
    lines
}

/// How the call itself ended.
fn ending(done: &Done, first: &Told) -> Line {
    let gas = done.outcome.gas_used;
    match (&first.end, done.is_success()) {
        _ if done.outcome.is_discarded() => Line::new(0, Tone::Bad, "discarded by vm.assume"),
        (End::Failed(reason), _) => Line::new(0, Tone::Bad, shortened(reason.clone()))
            .and(Tone::Plain, format!(", {gas} gas")),
        (_, true) => {
            let text = format!("returned {}, {gas} gas", shortened(given(first)));
            Line::new(0, Tone::Quiet, text)
        }
        (_, false) => {
            Line::new(0, Tone::Bad, "did not end").and(Tone::Plain, format!(", {gas} gas"))
        }
    }
}

/// The calls within a call. One that makes no others is a line, with what it returned.
#[derive(Default)]
struct Tree<'a> {
    lines: Vec<Line>,
    /// Those that called others and have not ended.
    open: Vec<&'a Told>,
    /// Calls since the last line that are too deep to be shown.
    deeper: usize,
}

impl<'a> Tree<'a> {
    fn grow(mut self, frames: &'a [Told], left_out: usize) -> Vec<Line> {
        for (index, frame) in frames.iter().take(MAX_SHOWN).enumerate() {
            if frame.depth > MAX_DEPTH {
                self.deeper += 1;
                continue;
            }
            self.skip();
            self.close(frame.depth);
            let call = Line::new(level(frame), Tone::Plain, shortened(called(frame)));
            if frames.get(index + 1).is_none_or(|next| next.depth <= frame.depth) {
                self.lines.push(call.and(Tone::Plain, " ").join(end(frame)));
            } else {
                self.lines.push(call);
                self.open.push(frame);
            }
        }
        self.skip();
        self.close(0);
        let more = frames.len().saturating_sub(MAX_SHOWN) + left_out;
        if more > 0 {
            self.lines.push(Line::new(0, Tone::Quiet, format!("… and {more} calls more")));
        }
        self.lines
    }

    /// Says how many were not shown.
    fn skip(&mut self) {
        match std::mem::take(&mut self.deeper) {
            0 => {}
            count => {
                let text = format!("… {count} calls deeper");
                self.lines.push(Line::new(MAX_DEPTH, Tone::Quiet, text));
            }
        }
    }

    /// Ends the calls that are not above this depth.
    fn close(&mut self, depth: usize) {
        while let Some(ended) = self.open.pop_if(|open| open.depth >= depth) {
            self.lines.push(Line { level: level(ended), parts: end(ended) });
        }
    }
}

fn level(frame: &Told) -> usize {
    frame.depth.saturating_sub(1)
}

fn called(frame: &Told) -> String {
    let kind = match frame.kind {
        "call" => String::new(),
        "create" | "create2" => "new ".to_owned(),
        kind => format!("{kind} "),
    };
    let address = frame.code.or(frame.to).map(|address| format!("{address:#x}"));
    let name = frame.contract.clone().or(address).unwrap_or_else(|| "a contract".to_owned());
    let value = match frame.value.is_zero() {
        true => String::new(),
        false => format!("{{value: {}}}", frame.value),
    };
    if kind == "new " {
        let place = frame.to.map(|address| format!(" at {address:#x}")).unwrap_or_default();
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

fn end(frame: &Told) -> Vec<(Tone, String)> {
    let gas = frame.gas;
    match &frame.end {
        End::Returned(_) => {
            vec![(Tone::Quiet, format!("→ {}, {gas} gas", shortened(given(frame))))]
        }
        End::Failed(reason) => {
            let reason = format!("→ {}", shortened(reason.clone()));
            vec![(Tone::Bad, reason), (Tone::Plain, format!(", {gas} gas"))]
        }
        End::Unknown => vec![(Tone::Bad, "→ did not end".to_owned())],
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
    let contract = event.contract.clone().unwrap_or_else(|| format!("{:#x}", event.address));
    let values = event.values.iter().map(|value| value.as_deref().unwrap_or("?"));
    format!("{contract}.{}({})", event.name, values.collect::<Vec<_>>().join(", "))
}

/// Not without end.
fn shortened(mut text: String) -> String {
    if text.len() > MAX_LETTERS {
        let all = text.len();
        text.truncate(text.floor_char_boundary(MAX_LETTERS));
        text.push_str(&format!("… ({} letters more)", all - text.len()));
    }
    text
}
