//! Prints discoveries as text and as JSON.

use std::io::Write;

use contract::text::{escape_hidden, one_line};
use pack_context::discover::Discovery;
use serde::Serialize;
use store::context::StoredDiscovery;

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::Result;
use crate::ui::{BOLD, TextTable};

/// Maximum characters of a text in a list.
const SHOWN: usize = 80;

/// JSON form of a discovery.
#[derive(Serialize)]
struct DiscoveryRecord<'a> {
    id: &'a str,
    r#type: &'a str,
    title: Option<&'a str>,
    content: &'a str,
    module: Option<&'a str>,
    session: Option<&'a str>,
    tags: &'a [String],
    date: &'a str,
    source: String,
}

fn to_record(discovery: &Discovery) -> DiscoveryRecord<'_> {
    let Discovery { id, kind, title, content, module, session, tags, date, source } = discovery;
    DiscoveryRecord {
        id,
        r#type: kind.as_str(),
        title: title.as_deref(),
        content,
        module: module.as_deref(),
        session: session.as_deref(),
        tags,
        date,
        source: source.to_string(),
    }
}

pub(super) fn print_list(
    ctx: &CommandContext,
    all: &[Discovery],
    filtered: bool,
    json: bool,
) -> Result<ExitStatus> {
    if json {
        ctx.ui.print_json(&all.iter().map(to_record).collect::<Vec<_>>())?;
        return Ok(ExitStatus::Success);
    }
    if all.is_empty() {
        ctx.ui.print_note(match filtered {
            true => "No matching discoveries. Run `vouch discover list` to see all of them.",
            false => "No discoveries yet. Add one: vouch discover add \"TEXT\"",
        });
        return Ok(ExitStatus::Success);
    }
    print_table(ctx, all)?;
    ctx.ui.print_note("\nRun `vouch discover show <id>` to see a discovery in full.");
    Ok(ExitStatus::Success)
}

fn print_table(ctx: &CommandContext, all: &[Discovery]) -> Result {
    let mut table = TextTable::new(["ID", "TYPE", "MODULE", "DATE", "SOURCE", "TEXT"]);
    for discovery in all {
        let text = discovery.title.as_ref().unwrap_or(&discovery.content);
        table.add_row([
            discovery.id.clone(),
            discovery.kind.to_string(),
            one_line(discovery.module.as_deref().unwrap_or("-")),
            discovery.date.chars().take(10).collect(),
            one_line(&discovery.source.to_string()),
            shorten_text(text),
        ]);
    }
    table.write_to(&mut ctx.ui.stdout())?;
    Ok(())
}

/// Returns the beginning of a text on one line.
fn shorten_text(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    let line = one_line(&words.join(" "));
    match line.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line,
    }
}

pub(super) fn print_discovery(
    ctx: &CommandContext,
    discovery: &Discovery,
    json: bool,
) -> Result<ExitStatus> {
    if json {
        ctx.ui.print_json(&to_record(discovery))?;
        return Ok(ExitStatus::Success);
    }
    let mut out = ctx.ui.stdout();
    let Discovery { id, kind, title, content, module, session, tags, date, source } = discovery;
    writeln!(out, "{BOLD}{id}{BOLD:#}  {kind}")?;
    writeln!(out, "from    {}", one_line(&source.to_string()))?;
    writeln!(out, "date    {}", one_line(date))?;
    if let Some(module) = module {
        writeln!(out, "module  {}", one_line(module))?;
    }
    if let Some(session) = session {
        writeln!(out, "session {}", one_line(session))?;
    }
    if !tags.is_empty() {
        writeln!(out, "tags    {}", one_line(&tags.join(", ")))?;
    }
    if let Some(title) = title {
        writeln!(out, "\n{BOLD}{}{BOLD:#}", one_line(title))?;
    }
    writeln!(out, "\n{}", escape_hidden(content))?;
    Ok(ExitStatus::Success)
}

/// Prints the result of adding `all`, of which `added` are new.
pub(super) fn print_added(
    ctx: &CommandContext,
    all: &[StoredDiscovery],
    added: usize,
    json: bool,
) -> Result<ExitStatus> {
    let discoveries: Vec<_> = all.iter().cloned().map(Discovery::from).collect();
    if json {
        ctx.ui.print_json(&discoveries.iter().map(to_record).collect::<Vec<_>>())?;
        return Ok(ExitStatus::Success);
    }
    match (&discoveries[..], added) {
        ([one], 0) => writeln!(ctx.ui.stdout(), "{BOLD}{}{BOLD:#} already exists", one.id)?,
        ([one], _) => writeln!(ctx.ui.stdout(), "added {} {BOLD}{}{BOLD:#}", one.kind, one.id)?,
        (many, added) => {
            let existing = many.len() - added;
            writeln!(ctx.ui.stdout(), "added {BOLD}{added}{BOLD:#}; {existing} already existed")?;
        }
    }
    if added > 0 {
        ctx.ui.print_note("context_search now finds it, including in running servers.");
    }
    Ok(ExitStatus::Success)
}

pub(super) fn print_dry_run(
    ctx: &CommandContext,
    all: &[StoredDiscovery],
    json: bool,
) -> Result<ExitStatus> {
    let discoveries: Vec<_> = all.iter().cloned().map(Discovery::from).collect();
    if json {
        ctx.ui.print_json(&discoveries.iter().map(to_record).collect::<Vec<_>>())?;
        return Ok(ExitStatus::Success);
    }
    print_table(ctx, &discoveries)?;
    ctx.ui.print_note("\nDry run: nothing was added.");
    Ok(ExitStatus::Success)
}

pub(super) fn print_removed(
    ctx: &CommandContext,
    removed: &StoredDiscovery,
    json: bool,
) -> Result<ExitStatus> {
    let discovery = Discovery::from(removed.clone());
    if json {
        ctx.ui.print_json(&to_record(&discovery))?;
        return Ok(ExitStatus::Success);
    }
    writeln!(ctx.ui.stdout(), "removed {} {BOLD}{}{BOLD:#}", discovery.kind, discovery.id)?;
    writeln!(ctx.ui.stdout(), "\n{}", escape_hidden(&discovery.content))?;
    Ok(ExitStatus::Success)
}
