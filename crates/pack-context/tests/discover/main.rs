//! Tests discovery extraction through the public API.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod commits;
mod files;
mod hostile_input;
mod new_discovery;
mod project;

use std::fmt::Write;

use pack_context::discover::{Discovery, DiscoveryExtractor};

const DATE: &str = "2026-03-01T12:00:00Z";

/// Extracts the discoveries of one file and renders them as text.
fn render_file(path: &str, text: &str) -> String {
    render_discoveries(
        &DiscoveryExtractor::new(".claude/memory").extract_from_file(path, text, DATE),
    )
}

fn render_discoveries(discoveries: &[Discovery]) -> String {
    let mut out = String::new();
    for discovery in discoveries {
        let Discovery { kind, title, content, module, session, tags, date, source, .. } = discovery;
        write!(out, "{source} {kind}").unwrap();
        for (name, value) in [("module", module), ("session", session)] {
            value.iter().for_each(|value| write!(out, " {name}={value}").unwrap());
        }
        if !tags.is_empty() {
            write!(out, " tags={tags:?}").unwrap();
        }
        if date != DATE {
            write!(out, " {date}").unwrap();
        }
        out.push('\n');
        title.iter().for_each(|title| writeln!(out, "  [{title}]").unwrap());
        content.lines().for_each(|line| writeln!(out, "  {line}").unwrap());
    }
    out
}
