//! Rendering of traces as text.

use std::collections::HashMap;
use std::fmt::Write;

use super::{AskTraceLine, GateVerdict, format_one_line};

/// Returns each ask with its gates, in the order of the lines, as text without colors.
pub fn render_trace(lines: &[AskTraceLine]) -> String {
    let mut indices: HashMap<&str, usize> = HashMap::new();
    let mut asks: Vec<Vec<&AskTraceLine>> = Vec::new();
    for line in lines {
        let index = *indices.entry(&line.ask).or_insert(asks.len());
        if index == asks.len() {
            asks.push(Vec::new());
        }
        asks[index].push(line);
    }
    let mut out = String::new();
    for (index, lines) in asks.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        write_ask(lines, &mut out).expect("writing to a string never fails");
    }
    out
}

fn write_ask(lines: &[&AskTraceLine], out: &mut String) -> std::fmt::Result {
    let (ask, time) = lines.first().map_or(("", ""), |line| (&*line.ask, &*line.time));
    let tool = lines.iter().rev().find_map(|line| line.tool.as_deref());
    write!(out, "ask {}  {}", format_one_line(ask), format_one_line(time))?;
    match tool {
        Some(tool) => writeln!(out, "  {}", format_one_line(tool))?,
        None => writeln!(out)?,
    }
    for line in lines {
        let verdict = match line.verdict {
            GateVerdict::Pass => "pass",
            GateVerdict::Stop => "STOP",
        };
        let (name, detail) = (format_one_line(&line.name), format_one_line(&line.detail));
        let elapsed = format_duration(line.elapsed_us);
        writeln!(out, "  {} {name:<16} {verdict}  {elapsed:>9}  {detail}", line.gate)?;
        if let Some(arguments) = &line.arguments {
            let shown = arguments.values.as_ref().unwrap_or(&arguments.shape);
            writeln!(out, "    arguments {}", format_one_line(&shown.to_string()))?;
            writeln!(out, "    digest    {}", format_one_line(&arguments.digest))?;
        }
    }
    Ok(())
}

fn format_duration(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        _ => format!("{}.{} s", us / 1_000_000, us % 1_000_000 / 100_000),
    }
}
