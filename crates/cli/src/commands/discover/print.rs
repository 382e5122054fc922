//! Discoveries on a terminal, and as JSON.

use std::io::Write;

use contract::text::{one_line, visible};
use pack_context::discover::Discovery;
use serde::Serialize;
use store::context::StoredDiscovery;

use crate::commands::Context;
use crate::exit::Exit;
use crate::report::Result;
use crate::ui::{BOLD, Table};

/// What a list shows of a text, in characters.
const SHOWN: usize = 80;

/// A discovery as a script reads it.
#[derive(Serialize)]
struct Record<'a> {
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

fn record(discovery: &Discovery) -> Record<'_> {
    let Discovery { id, kind, title, content, module, session, tags, date, source } = discovery;
    Record {
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

pub(super) fn list(ctx: &Context, all: &[Discovery], filtered: bool, json: bool) -> Result<Exit> {
    if json {
        ctx.ui.json(&all.iter().map(record).collect::<Vec<_>>())?;
        return Ok(Exit::Success);
    }
    if all.is_empty() {
        ctx.ui.note(match filtered {
            true => "No discovery is so: vouch discover list shows them all.",
            false => "There are no discoveries yet: vouch discover add \"what was found out\"",
        });
        return Ok(Exit::Success);
    }
    table(ctx, all)?;
    ctx.ui.note("\nsee all of one: vouch discover show <id>");
    Ok(Exit::Success)
}

fn table(ctx: &Context, all: &[Discovery]) -> Result {
    let mut table = Table::new(["ID", "TYPE", "MODULE", "DATE", "SOURCE", "TEXT"]);
    for discovery in all {
        let text = discovery.title.as_ref().unwrap_or(&discovery.content);
        table.row([
            discovery.id.clone(),
            discovery.kind.to_string(),
            one_line(discovery.module.as_deref().unwrap_or("-")),
            discovery.date.chars().take(10).collect(),
            one_line(&discovery.source.to_string()),
            short(text),
        ]);
    }
    table.print(&mut ctx.ui.out())?;
    Ok(())
}

/// The beginning of a text, on one line.
fn short(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    let line = one_line(&words.join(" "));
    match line.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line,
    }
}

pub(super) fn show(ctx: &Context, discovery: &Discovery, json: bool) -> Result<Exit> {
    if json {
        ctx.ui.json(&record(discovery))?;
        return Ok(Exit::Success);
    }
    let mut out = ctx.ui.out();
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
    writeln!(out, "\n{}", visible(content))?;
    Ok(Exit::Success)
}

/// `added` of them were not there before.
pub(super) fn added(
    ctx: &Context,
    all: &[StoredDiscovery],
    added: usize,
    json: bool,
) -> Result<Exit> {
    let discoveries: Vec<_> = all.iter().cloned().map(Discovery::from).collect();
    if json {
        ctx.ui.json(&discoveries.iter().map(record).collect::<Vec<_>>())?;
        return Ok(Exit::Success);
    }
    match (&discoveries[..], added) {
        ([one], 0) => writeln!(ctx.ui.out(), "{BOLD}{}{BOLD:#} was there already", one.id)?,
        ([one], _) => writeln!(ctx.ui.out(), "added {} {BOLD}{}{BOLD:#}", one.kind, one.id)?,
        (many, added) => {
            let there = many.len() - added;
            writeln!(ctx.ui.out(), "added {BOLD}{added}{BOLD:#}; {there} were there already")?;
        }
    }
    if added > 0 {
        ctx.ui.note("context_search finds it from now on, also in servers that run already.");
    }
    Ok(Exit::Success)
}

pub(super) fn would_add(ctx: &Context, all: &[StoredDiscovery], json: bool) -> Result<Exit> {
    let discoveries: Vec<_> = all.iter().cloned().map(Discovery::from).collect();
    if json {
        ctx.ui.json(&discoveries.iter().map(record).collect::<Vec<_>>())?;
        return Ok(Exit::Success);
    }
    table(ctx, &discoveries)?;
    ctx.ui.note("\nNothing was added: this was a dry run.");
    Ok(Exit::Success)
}

pub(super) fn removed(ctx: &Context, removed: &StoredDiscovery, json: bool) -> Result<Exit> {
    let discovery = Discovery::from(removed.clone());
    if json {
        ctx.ui.json(&record(&discovery))?;
        return Ok(Exit::Success);
    }
    writeln!(ctx.ui.out(), "removed {} {BOLD}{}{BOLD:#}", discovery.kind, discovery.id)?;
    writeln!(ctx.ui.out(), "\n{}", visible(&discovery.content))?;
    Ok(Exit::Success)
}
