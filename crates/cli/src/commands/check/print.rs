//! The report of `vouch check` as a table, as JSON and as SARIF.

use std::fmt::Write as _;
use std::io::Write;

use admit::conformance::{ConformanceReport, ReportRow};
use app::check::drafts::{OverlayDraft, OverlayDrafts};
use contract::text::one_line;
use lint::Severity;
use serde_json::Value;

use crate::commands::CommandContext;
use crate::report::Result;
use crate::ui::{BOLD, TextTable};

pub(super) fn print_table(
    ctx: &CommandContext,
    report: &ConformanceReport,
    drafts: Option<&OverlayDrafts>,
) -> Result {
    let mut out = ctx.ui.stdout();
    if !report.tools.is_empty() {
        let mut table = TextTable::new(["TOOL", "SEVERITY", "RULE", "LOCATION", "MESSAGE"]);
        for ReportRow { tool, severity, rule, place, message, .. } in
            report.to_table(Severity::Note)
        {
            let severity = severity.map_or("ok".to_owned(), |severity| severity.to_string());
            table.add_row([tool, severity, rule.to_owned(), place, message]);
        }
        table.write_to(&mut out)?;
        writeln!(out)?;
    }
    writeln!(out, "{BOLD}{}{BOLD:#}", format_summary(report))?;
    if let Some(drafts) = drafts {
        write!(out, "\n{}", format_drafts(drafts))?;
    }
    let worst = report.tools.iter().flat_map(|tool| &tool.findings).min_by_key(|f| f.severity);
    if let Some(worst) = worst {
        ctx.ui.print_note(format_args!(
            "\nRun `vouch explain {}` for details of a rule.",
            worst.rule
        ));
        if drafts.is_none() {
            ctx.ui.print_note(
                "If you cannot change the server, pass `--fix-overlay contracts` to draft contracts for it.",
            );
        }
    }
    Ok(())
}

fn format_summary(report: &ConformanceReport) -> String {
    let server = &report.server;
    let mut text = format!("{} {}", one_line(&server.name), one_line(&server.version));
    let _ = write!(text, " (MCP {}): ", one_line(&server.protocol));
    text.push_str(&format_count(report.tools.len(), "tool"));
    for (state, count) in report.count_by_status() {
        let _ = write!(text, ", {count} {}", state.as_str());
    }
    text.push_str("; ");
    let [errors, warnings, notes] = [Severity::Error, Severity::Warning, Severity::Note]
        .map(|severity| report.count_findings(severity));
    let _ = match errors + warnings + notes {
        0 => write!(text, "no findings"),
        _ => write!(
            text,
            "{}, {}, {}",
            format_count(errors, "error"),
            format_count(warnings, "warning"),
            format_count(notes, "note")
        ),
    };
    text
}

fn format_count(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Returns the list of drafts with the parts that must be completed by hand.
fn format_drafts(OverlayDrafts(drafts): &OverlayDrafts) -> String {
    if drafts.is_empty() {
        return "No overlays needed.\n".to_owned();
    }
    let mut text = String::new();
    for OverlayDraft { file, written, todo, .. } in drafts {
        let verb = if *written { "wrote" } else { "kept (pass `--force` to replace it)" };
        let _ = writeln!(text, "{verb} {}", one_line(file));
        for item in todo {
            let _ = writeln!(text, "  - {}", one_line(item));
        }
    }
    text
}

pub(super) fn print_json(
    ctx: &CommandContext,
    report: &ConformanceReport,
    drafts: Option<&OverlayDrafts>,
) -> Result {
    let mut view = report.to_json();
    if let Some(OverlayDrafts(drafts)) = drafts {
        view["overlays"] = serde_json::to_value(drafts)?;
    }
    write_json(ctx, &view)
}

pub(super) fn print_sarif(
    ctx: &CommandContext,
    report: &ConformanceReport,
    location: Option<&str>,
    drafts: Option<&OverlayDrafts>,
) -> Result {
    if let Some(drafts) = drafts {
        ctx.ui.print_note(format_drafts(drafts).trim_end());
    }
    write_json(ctx, &report.to_sarif(location))
}

/// Prints a value as JSON with hidden characters escaped, because names and pointers are untrusted.
fn write_json(ctx: &CommandContext, value: &Value) -> Result {
    write!(ctx.ui.stdout(), "{}", contract::text::to_visible_json(value))?;
    Ok(())
}
