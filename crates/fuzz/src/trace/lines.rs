//! Formats a call trace as lines: the call tree, the events, and the outcome.
//!
//! Each part of a line has a tone, so that the caller can choose colors; the text is complete without them.

use std::fmt;

use super::decode::{CallTrace, FrameEnd, TracedEvent, TracedFrame, format_short};
use super::tracer::CallExecution;

/// Maximum displayed subcalls, and their maximum depth; the [`CallTrace`] has more of them.
const MAX_SHOWN: usize = 100;
const MAX_DEPTH: usize = 12;
const MAX_EVENTS: usize = 20;
/// Maximum length of a part.
const MAX_LETTERS: usize = 300;

/// A line of a formatted trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLine {
    /// Indentation level; 0 belongs to the call itself.
    pub level: usize,
    pub parts: Vec<(LineTone, String)>,
}

/// Tone of a part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineTone {
    Plain,
    /// Less important than the rest.
    Quiet,
    /// A failure.
    Bad,
}

impl TraceLine {
    fn new(level: usize, tone: LineTone, text: impl Into<String>) -> Self {
        Self { level, parts: Vec::new() }.with_part(tone, text)
    }

    fn with_part(mut self, tone: LineTone, text: impl Into<String>) -> Self {
        self.parts.push((tone, text.into()));
        self
    }

    fn with_parts(mut self, parts: Vec<(LineTone, String)>) -> Self {
        self.parts.extend(parts);
        self
    }
}

impl fmt::Display for TraceLine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:indent$}", "", indent = 2 * self.level)?;
        self.parts.iter().try_for_each(|(_, text)| out.write_str(text))
    }
}

pub(super) fn format_trace(done: &CallExecution) -> Vec<TraceLine> {
    let CallTrace { frames, events, frames_left_out, events_left_out } = &done.trace;
    let Some((first, within)) = frames.split_first() else { return Vec::new() };
    let mut lines = CallTreeWriter::default().write_frames(within, *frames_left_out);
    let undone = if done.is_success() { "" } else { ", undone" };
    lines.extend(events.iter().take(MAX_EVENTS).map(|event| {
        let text = format!(" {}{undone}", truncate_text(format_event(event)));
        TraceLine::new(0, LineTone::Quiet, "emitted").with_part(LineTone::Plain, text)
    }));
    let more = events.len().saturating_sub(MAX_EVENTS) + events_left_out;
    if more > 0 {
        lines.push(TraceLine::new(0, LineTone::Quiet, format!("… and {more} more events")));
    }
    lines.push(format_outcome(done, first));
    lines
}

/// Formats the outcome of the call itself.
fn format_outcome(done: &CallExecution, first: &TracedFrame) -> TraceLine {
    let gas = done.outcome.gas_used;
    match (&first.end, done.is_success()) {
        _ if done.outcome.is_discarded() => {
            let reason = done.outcome.not_run_reason();
            let text = reason.map_or("discarded by vm.assume".to_owned(), |reason| {
                truncate_text(format!("not run: {reason}"))
            });
            TraceLine::new(0, LineTone::Bad, text)
        }
        (FrameEnd::Failed(reason), _) => {
            TraceLine::new(0, LineTone::Bad, truncate_text(reason.clone()))
                .with_part(LineTone::Plain, format!(", {gas} gas"))
        }
        (_, true) => {
            let text = format!("returned {}, {gas} gas", truncate_text(format_output(first)));
            TraceLine::new(0, LineTone::Quiet, text)
        }
        (_, false) => TraceLine::new(0, LineTone::Bad, "did not end")
            .with_part(LineTone::Plain, format!(", {gas} gas")),
    }
}

/// Writes the call tree. A call without subcalls takes one line, with its return value.
#[derive(Default)]
struct CallTreeWriter<'a> {
    lines: Vec<TraceLine>,
    /// Frames with subcalls that have not ended.
    open: Vec<&'a TracedFrame>,
    /// Frames since the last line that are too deep to show.
    deeper: usize,
}

impl<'a> CallTreeWriter<'a> {
    fn write_frames(mut self, frames: &'a [TracedFrame], left_out: usize) -> Vec<TraceLine> {
        for (index, frame) in frames.iter().take(MAX_SHOWN).enumerate() {
            if frame.depth > MAX_DEPTH {
                self.deeper += 1;
                continue;
            }
            self.flush_deeper();
            self.close_frames(frame.depth);
            let call = TraceLine::new(
                indent_level(frame),
                LineTone::Plain,
                truncate_text(format_call(frame)),
            );
            if frames.get(index + 1).is_none_or(|next| next.depth <= frame.depth) {
                self.lines.push(call.with_part(LineTone::Plain, " ").with_parts(format_end(frame)));
            } else {
                self.lines.push(call);
                self.open.push(frame);
            }
        }
        self.flush_deeper();
        self.close_frames(0);
        let more = frames.len().saturating_sub(MAX_SHOWN) + left_out;
        if more > 0 {
            self.lines.push(TraceLine::new(0, LineTone::Quiet, format!("… and {more} more calls")));
        }
        self.lines
    }

    /// Writes the number of frames that were too deep to show.
    fn flush_deeper(&mut self) {
        match std::mem::take(&mut self.deeper) {
            0 => {}
            count => {
                let text = format!("… {count} deeper calls");
                self.lines.push(TraceLine::new(MAX_DEPTH, LineTone::Quiet, text));
            }
        }
    }

    /// Ends the open frames at this depth or deeper.
    fn close_frames(&mut self, depth: usize) {
        while let Some(ended) = self.open.pop_if(|open| open.depth >= depth) {
            self.lines.push(TraceLine { level: indent_level(ended), parts: format_end(ended) });
        }
    }
}

fn indent_level(frame: &TracedFrame) -> usize {
    frame.depth.saturating_sub(1)
}

fn format_call(frame: &TracedFrame) -> String {
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
        let location = frame.to.map(|address| format!(" at {address:#x}")).unwrap_or_default();
        return format!("new {name}{value}{location}");
    }
    match (&frame.function, &frame.arguments) {
        (Some(function), Some(arguments)) => {
            format!("{kind}{name}.{function}{value}({})", arguments.join(", "))
        }
        _ if frame.input.is_empty() => format!("{kind}{name}.*fallback*{value}()"),
        _ => format!("{kind}{name}.*fallback*{value}({})", format_short(&frame.input)),
    }
}

fn format_end(frame: &TracedFrame) -> Vec<(LineTone, String)> {
    let gas = frame.gas;
    match &frame.end {
        FrameEnd::Returned(_) => {
            vec![(LineTone::Quiet, format!("→ {}, {gas} gas", truncate_text(format_output(frame))))]
        }
        FrameEnd::Failed(reason) => {
            let reason = format!("→ {}", truncate_text(reason.clone()));
            vec![(LineTone::Bad, reason), (LineTone::Plain, format!(", {gas} gas"))]
        }
        FrameEnd::Unknown => vec![(LineTone::Bad, "→ did not end".to_owned())],
    }
}

/// Formats the return value of a frame.
fn format_output(frame: &TracedFrame) -> String {
    match &frame.end {
        FrameEnd::Returned(Some(values)) if values.len() == 1 => values[0].clone(),
        FrameEnd::Returned(Some(values)) => format!("({})", values.join(", ")),
        _ if frame.output.is_empty() => "nothing".to_owned(),
        _ if frame.kind.starts_with("create") => format!("{} bytes of code", frame.output.len()),
        _ => format_short(&frame.output),
    }
}

fn format_event(event: &TracedEvent) -> String {
    let contract = event.contract.clone().unwrap_or_else(|| format!("{:#x}", event.address));
    let values = event.values.iter().map(|value| value.as_deref().unwrap_or("?"));
    format!("{contract}.{}({})", event.name, values.collect::<Vec<_>>().join(", "))
}

/// Truncates a text.
fn truncate_text(mut text: String) -> String {
    if text.len() > MAX_LETTERS {
        let all = text.len();
        text.truncate(text.floor_char_boundary(MAX_LETTERS));
        text.push_str(&format!("… ({} more characters)", all - text.len()));
    }
    text
}
