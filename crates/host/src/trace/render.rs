//! Traces as text for a person.

use std::collections::HashMap;
use std::fmt::Write;

use super::{Line, Verdict, clean};

/// Each ask with its gates, in the order of the lines. Plain text; colours are the terminal's business.
pub fn render(lines: &[Line]) -> String {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut asks: Vec<Vec<&Line>> = Vec::new();
    for line in lines {
        let place = *places.entry(&line.ask).or_insert(asks.len());
        if place == asks.len() {
            asks.push(Vec::new());
        }
        asks[place].push(line);
    }
    let mut out = String::new();
    for (index, of_ask) in asks.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        one(of_ask, &mut out).expect("writing to a string never fails");
    }
    out
}

fn one(lines: &[&Line], out: &mut String) -> std::fmt::Result {
    let (ask, time) = lines.first().map_or(("", ""), |line| (&*line.ask, &*line.time));
    let tool = lines.iter().rev().find_map(|line| line.tool.as_deref());
    write!(out, "ask {}  {}", clean(ask), clean(time))?;
    match tool {
        Some(tool) => writeln!(out, "  {}", clean(tool))?,
        None => writeln!(out)?,
    }
    for line in lines {
        let verdict = match line.verdict {
            Verdict::Pass => "pass",
            Verdict::Stop => "STOP",
        };
        let (name, detail) = (clean(&line.name), clean(&line.detail));
        let elapsed = duration(line.elapsed_us);
        writeln!(out, "  {} {name:<16} {verdict}  {elapsed:>9}  {detail}", line.gate)?;
        if let Some(arguments) = &line.arguments {
            let shown = arguments.values.as_ref().unwrap_or(&arguments.shape);
            writeln!(out, "    arguments {}", clean(&shown.to_string()))?;
            writeln!(out, "    digest    {}", clean(&arguments.digest))?;
        }
    }
    Ok(())
}

fn duration(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        _ => format!("{}.{} s", us / 1_000_000, us % 1_000_000 / 100_000),
    }
}
