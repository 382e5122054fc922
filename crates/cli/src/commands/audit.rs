//! `vouch audit`: the record of every call.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use app::project::audit_log;
use clap::Subcommand;
use contract::text::one_line;
use store::audit::{Entry, Finding, Line, Outcome, Report, tail, verify};

use crate::commands::{Context, Format};
use crate::exit::Exit;
use crate::report::Result;
use crate::ui::{DIM, ERROR, GOOD, WARN};

/// How often `tail --follow` looks.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Verify or read the record of calls
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check that no line was changed, removed, inserted or moved
    ///
    /// Exits with 1 and names each bad line. The last hash, kept elsewhere, proves later that the record still begins
    /// with these lines.
    Verify {
        #[command(flatten)]
        format: Format,
    },
    /// Show the last calls
    Tail {
        /// How many
        #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
        lines: u64,
        /// Go on as calls come in
        #[arg(short, long)]
        follow: bool,
        #[command(flatten)]
        format: Format,
    },
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let log = audit_log(&ctx.app.settings()?);
    match &args.action {
        Action::Verify { format } => {
            let report = verify(&log)?;
            if format.json {
                ctx.ui.json(&report)?;
            } else {
                print(ctx, &log, &report)?;
            }
            Ok(if report.ok { Exit::Success } else { Exit::No })
        }
        Action::Tail { lines, follow, format } => {
            let mut last = 0;
            let mut show = |count| -> Result {
                let (mut out, seen) = (ctx.ui.out(), last);
                for line in tail(&log, count)?.iter().filter(|line| line.seq > seen) {
                    last = line.seq;
                    print_line(&mut out, line, format.json)?;
                }
                Ok(())
            };
            show(*lines)?;
            if !follow {
                return Ok(Exit::Success);
            }
            loop {
                std::thread::sleep(LOOK_EVERY);
                // More than anybody writes between two looks; lines that were shown are passed over.
                show(10_000)?;
            }
        }
    }
}

fn print(ctx: &Context, log: &Path, report: &Report) -> Result {
    let mut out = ctx.ui.out();
    for Finding { message, .. } in &report.problems {
        writeln!(out, "{ERROR}bad{ERROR:#}   {}", one_line(message))?;
    }
    for Finding { message, .. } in &report.notes {
        writeln!(out, "{WARN}note{WARN:#}  {}", one_line(message))?;
    }
    if report.unlisted > 0 {
        writeln!(out, "      and {} more", report.unlisted)?;
    }
    let Report { lines, last_seq, last_hash, .. } = report;
    let log = log.display();
    if report.ok && *lines == 0 {
        writeln!(out, "{GOOD}ok{GOOD:#}    no call was recorded yet in {log}")?;
    } else if report.ok {
        writeln!(out, "{GOOD}ok{GOOD:#}    {lines} lines of {log} are as they were written")?;
        writeln!(out, "      last: {last_seq} {last_hash}")?;
    } else {
        writeln!(out, "{ERROR}bad{ERROR:#}   {log} was changed after it was written")?;
    }
    Ok(())
}

fn print_line(out: &mut impl Write, line: &Line, json: bool) -> Result {
    if json {
        writeln!(out, "{}", serde_json::to_string(line)?)?;
        return Ok(());
    }
    let time = line.entry.time();
    match &line.entry {
        Entry::Call(record) => {
            let (style, outcome) = match record.outcome {
                Outcome::Ok => (GOOD, "ok"),
                Outcome::Error => (ERROR, record.code.as_deref().unwrap_or("error")),
                Outcome::InputRequired => (WARN, "input required"),
                Outcome::Unknown => (WARN, "outcome unknown"),
            };
            let tool = one_line(record.tool.as_deref().unwrap_or("-"));
            let caller = one_line(&record.caller);
            let time_taken = duration(record.duration_us);
            let values = record.arguments.as_ref().map(|arguments| {
                one_line(&arguments.values.as_ref().unwrap_or(&arguments.shape).to_string())
            });
            let values = values.unwrap_or_default();
            let outcome = one_line(outcome);
            writeln!(
                out,
                "{DIM}{time:.0}{DIM:#}  {style}{outcome:<17}{style:#} {tool} {DIM}{values}{DIM:#} by {caller} in {time_taken}"
            )?;
        }
        Entry::Event { event, .. } => {
            let event = one_line(&serde_json::to_string(event)?);
            writeln!(out, "{DIM}{time:.0}{DIM:#}  {WARN}log{WARN:#} {event}")?;
        }
    }
    Ok(())
}

/// Microseconds with the unit that makes them readable.
pub(crate) fn duration(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{:.1} ms", micros as f64 / 1e3),
        _ => format!("{:.2} s", micros as f64 / 1e6),
    }
}
