//! Renders `context://project/overview`.

use std::collections::HashMap;

use source::FileRole;

use super::markdown_page::{self, MarkdownPage, format_code, format_count};
use super::{FileFact, ProjectFacts};
use crate::discover::{Discovery, DiscoveryKind};
use crate::sessions::SessionTracker;
use crate::{IndexPhase, IndexStatus};

const MAX_LANGUAGES: usize = 12;
const MAX_MODULES: usize = 60;
const MAX_ENTRIES: usize = 30;
/// Maximum discoveries listed per kind.
const MAX_DISCOVERIES: usize = 12;
const MAX_READ: usize = 12;

pub(super) fn render_overview_page(facts: &dyn ProjectFacts, sessions: &SessionTracker) -> String {
    let files = facts.files();
    let discoveries = facts.discoveries();
    let mut page = MarkdownPage::new(&facts.name());
    page.push_paragraph(&describe_state(&facts.status(), files.len()));

    let languages = count_by_name(files.iter().filter_map(|file| file.language.as_deref()));
    page.push_list(
        "Languages",
        languages.len(),
        languages
            .iter()
            .take(MAX_LANGUAGES)
            .map(|(name, n)| format!("{name}: {}", format_count(*n, "file", "files"))),
    );

    let modules = count_by_name(files.iter().filter_map(|file| file.module.as_deref()));
    let noted =
        count_by_name(discoveries.iter().filter_map(|discovery| discovery.module.as_deref()));
    let discoveries_by_module: HashMap<_, _> = noted.into_iter().collect();
    page.push_list(
        "Modules",
        modules.len(),
        modules.iter().take(MAX_MODULES).map(|(name, n)| {
            let discoveries = discoveries_by_module.get(name).map_or(String::new(), |n| {
                format!(", {}", format_count(*n, "discovery", "discoveries"))
            });
            format!("{}: {}{discoveries}", format_code(name), format_count(*n, "file", "files"))
        }),
    );

    let mut entries: Vec<&FileFact> =
        files.iter().filter(|file| file.role == FileRole::Entry).collect();
    // The outermost entry points usually start the whole program.
    entries.sort_by_key(|file| (file.path.matches('/').count(), &file.path));
    page.push_list(
        "Entry points",
        entries.len(),
        entries.iter().take(MAX_ENTRIES).map(|file| format_code(&file.path)),
    );

    for (title, kind) in [
        ("Recent decisions", DiscoveryKind::Decision),
        ("Rules", DiscoveryKind::Rule),
        ("Patterns", DiscoveryKind::Pattern),
        ("Recent issues", DiscoveryKind::Issue),
    ] {
        let of_kind =
            sort_newest_first(discoveries.iter().filter(|discovery| discovery.kind == kind));
        let shown = of_kind
            .iter()
            .take(MAX_DISCOVERIES)
            .map(|found| markdown_page::format_discovery(found));
        page.push_list(title, of_kind.len(), shown);
    }

    let recency = sessions.recency();
    recency.refresh();
    let read = recency.top_files(MAX_READ, sessions.now());
    page.push_list(
        "Most read recently",
        read.len(),
        read.iter().map(|(file, _)| {
            let times = usize::try_from(file.times).unwrap_or(usize::MAX);
            format!("{}: {}", format_code(&file.path), format_count(times, "time", "times"))
        }),
    );
    page.finish()
}

/// Describes the file count and the progress of the index in one sentence.
fn describe_state(status: &IndexStatus, files: usize) -> String {
    let files = format_count(files, "file", "files");
    let index = match status.phase {
        IndexPhase::Ready if status.pending == 0 => "the index is complete".to_owned(),
        IndexPhase::Ready => {
            format!("{} pending", format_count(status.pending, "changed file", "changed files"))
        }
        IndexPhase::Idle | IndexPhase::Building => {
            "the index is being built, so this page is incomplete".to_owned()
        }
    };
    let vectors = match &status.model {
        Some(_) if status.vectors.done < status.vectors.all => {
            format!("; {} of {} chunks embedded", status.vectors.done, status.vectors.all)
        }
        Some(_) => String::new(),
        None => "; no embedding model, so search matches words only".to_owned(),
    };
    format!("{files}; {index}{vectors}.")
}

/// Returns each name with its number of occurrences, most frequent first.
fn count_by_name<'a>(names: impl Iterator<Item = &'a str>) -> Vec<(&'a str, usize)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|(a, n), (b, m)| m.cmp(n).then(a.cmp(b)));
    counts
}

/// Returns the discoveries sorted by date, newest first.
pub(super) fn sort_newest_first<'a>(
    discoveries: impl Iterator<Item = &'a Discovery>,
) -> Vec<&'a Discovery> {
    let mut discoveries: Vec<_> = discoveries.collect();
    // Discoveries with the same date keep their order within a file.
    discoveries.sort_by(|a, b| {
        b.date
            .cmp(&a.date)
            .then_with(|| source_position(a).cmp(&source_position(b)))
            .then_with(|| a.id.cmp(&b.id))
    });
    discoveries
}

fn source_position(discovery: &Discovery) -> (&str, u32) {
    match &discovery.source {
        crate::discover::DiscoverySource::File { path, line } => (path, *line),
        crate::discover::DiscoverySource::Commit { .. }
        | crate::discover::DiscoverySource::Store { .. } => ("", 0),
    }
}
