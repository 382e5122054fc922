//! A report for people, for programs and for code scanning.

use std::fmt::Write as _;
use std::io::Write;

use admit::conformance::{Report, Row};
use app::check::drafts::{Draft, Drafts};
use lint::Severity;
use contract::text::one_line;
use lint::Severity;
use serde_json::Value;

use crate::commands::Context;
use crate::report::Result;
use crate::ui::{BOLD, Table};

pub(super) fn table(ctx: &Context, report: &Report, drafts: Option<&Drafts>) -> Result {
    let mut out = ctx.ui.out();
    if !report.tools.is_empty() {
        let mut table = Table::new(["TOOL", "SEVERITY", "RULE", "WHERE", "WHAT"]);
        for Row { tool, severity, rule, place, message, .. } in report.to_table(Severity::Note) {
            let severity = severity.map_or("ok".to_owned(), |severity| severity.to_string());
            table.row([tool, severity, rule.to_owned(), place, message]);
        }
        table.print(&mut out)?;
        writeln!(out)?;
    }
    writeln!(out, "{BOLD}{}{BOLD:#}", summary(report))?;
    if let Some(drafts) = drafts {
        write!(out, "\n{}", drafted(drafts))?;
    }
    let worst = report.tools.iter().flat_map(|tool| &tool.findings).min_by_key(|f| f.severity);
    if let Some(worst) = worst {
        ctx.ui.note(format_args!("\nMore about a rule: vouch explain {}", worst.rule));
        if drafts.is_none() {
            ctx.ui.note(
                "If the server is not yours, draft contracts for it: --fix-overlay contracts",
            );
        }
    }
    Ok(())
}

fn summary(report: &Report) -> String {
    let server = &report.server;
    let mut text = format!("{} {}", one_line(&server.name), one_line(&server.version));
    let _ = write!(text, " (MCP {}): ", one_line(&server.protocol));
    text.push_str(&counted(report.tools.len(), "tool"));
    for (state, count) in report.states() {
        let _ = write!(text, ", {count} {}", state.as_str());
    }
    text.push_str("; ");
    let [errors, warnings, notes] =
        [Severity::Error, Severity::Warning, Severity::Note].map(|severity| report.count(severity));
    let _ = match errors + warnings + notes {
        0 => write!(text, "nothing to complain about"),
        _ => write!(
            text,
            "{}, {}, {}",
            counted(errors, "error"),
            counted(warnings, "warning"),
            counted(notes, "note")
        ),
    };
    text
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// What was written, and what a person has to add.
fn drafted(Drafts(drafts): &Drafts) -> String {
    if drafts.is_empty() {
        return "No overlay is needed.\n".to_owned();
    }
    let mut text = String::new();
    for Draft { file, written, todo, .. } in drafts {
        let said = if *written { "wrote" } else { "kept (replace it with --force)" };
        let _ = writeln!(text, "{said} {}", one_line(file));
        for item in todo {
            let _ = writeln!(text, "  - {}", one_line(item));
        }
    }
    text
}

pub(super) fn json(ctx: &Context, report: &Report, drafts: Option<&Drafts>) -> Result {
    let mut view = report.to_json();
    if let Some(Drafts(drafts)) = drafts {
        view["overlays"] = serde_json::to_value(drafts)?;
    }
    put(ctx, &view)
}

pub(super) fn sarif(
    ctx: &Context,
    report: &Report,
    location: Option<&str>,
    drafts: Option<&Drafts>,
) -> Result {
    if let Some(drafts) = drafts {
        ctx.ui.note(drafted(drafts).trim_end());
    }
    put(ctx, &report.to_sarif(location))
}

/// Names and pointers are a stranger's; nothing may hide in them.
fn put(ctx: &Context, value: &Value) -> Result {
    write!(ctx.ui.out(), "{}", contract::text::json(value))?;
    Ok(())
}
