//! `context://project/overview`.

use std::collections::HashMap;

use source::Role;

use super::page::{self, Page, code, count};
use super::{Facts, FileFact};
use crate::discover::{Discovery, Kind};
use crate::sessions::Sessions;
use crate::{Phase, Status};

const MAX_LANGUAGES: usize = 12;
const MAX_MODULES: usize = 60;
const MAX_ENTRIES: usize = 30;
/// For each kind.
const MAX_DISCOVERIES: usize = 12;
const MAX_READ: usize = 12;

pub(super) fn page(facts: &dyn Facts, sessions: &Sessions) -> String {
    let files = facts.files();
    let discoveries = facts.discoveries();
    let mut page = Page::new(&facts.name());
    page.say(&state(&facts.status(), files.len()));

    let languages = most(files.iter().filter_map(|file| file.language.as_deref()));
    page.list(
        "Languages",
        languages.len(),
        languages
            .iter()
            .take(MAX_LANGUAGES)
            .map(|(name, n)| format!("{name}: {}", count(*n, "file", "files"))),
    );

    let modules = most(files.iter().filter_map(|file| file.module.as_deref()));
    let told = most(discoveries.iter().filter_map(|discovery| discovery.module.as_deref()));
    let told: HashMap<_, _> = told.into_iter().collect();
    page.list(
        "Modules",
        modules.len(),
        modules.iter().take(MAX_MODULES).map(|(name, n)| {
            let discoveries = told
                .get(name)
                .map_or(String::new(), |n| format!(", {}", count(*n, "discovery", "discoveries")));
            format!("{}: {}{discoveries}", code(name), count(*n, "file", "files"))
        }),
    );

    let mut entries: Vec<&FileFact> =
        files.iter().filter(|file| file.role == Role::Entry).collect();
    // The outermost begin the program; those below begin its parts.
    entries.sort_by_key(|file| (file.path.matches('/').count(), &file.path));
    page.list(
        "Entry points",
        entries.len(),
        entries.iter().take(MAX_ENTRIES).map(|file| code(&file.path)),
    );

    for (title, kind) in [
        ("Recent decisions", Kind::Decision),
        ("Rules", Kind::Rule),
        ("Patterns", Kind::Pattern),
        ("Recent issues", Kind::Issue),
    ] {
        let of_kind = newest(discoveries.iter().filter(|discovery| discovery.kind == kind));
        let shown = of_kind.iter().take(MAX_DISCOVERIES).map(|found| page::discovery(found));
        page.list(title, of_kind.len(), shown);
    }

    let warmth = sessions.warmth();
    warmth.refresh();
    let read = warmth.warmest(MAX_READ, sessions.now());
    page.list(
        "Read most, lately",
        read.len(),
        read.iter().map(|(file, _)| {
            let times = usize::try_from(file.times).unwrap_or(usize::MAX);
            format!("{}: {}", code(&file.path), count(times, "time", "times"))
        }),
    );
    page.finish()
}

fn state(status: &Status, files: usize) -> String {
    let files = count(files, "file", "files");
    let index = match status.phase {
        Phase::Ready if status.pending == 0 => "the index is complete".to_owned(),
        Phase::Ready => {
            format!("{} to look at again", count(status.pending, "changed file", "changed files"))
        }
        Phase::Idle | Phase::Building => {
            "the index is being built, so this page is not complete".to_owned()
        }
    };
    let vectors = match &status.model {
        Some(_) if status.vectors.done < status.vectors.all => {
            format!(
                "; {} of {} pieces can be found by meaning",
                status.vectors.done, status.vectors.all
            )
        }
        Some(_) => String::new(),
        None => "; search goes by words alone".to_owned(),
    };
    format!("{files}; {index}{vectors}.")
}

/// Each name with how often it came, most first.
fn most<'a>(names: impl Iterator<Item = &'a str>) -> Vec<(&'a str, usize)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|(a, n), (b, m)| m.cmp(n).then(a.cmp(b)));
    counts
}

pub(super) fn newest<'a>(discoveries: impl Iterator<Item = &'a Discovery>) -> Vec<&'a Discovery> {
    let mut discoveries: Vec<_> = discoveries.collect();
    // Of the same file, which have the same date, the first are the first.
    discoveries.sort_by(|a, b| {
        b.date.cmp(&a.date).then_with(|| place(a).cmp(&place(b))).then_with(|| a.id.cmp(&b.id))
    });
    discoveries
}

fn place(discovery: &Discovery) -> (&str, u32) {
    match &discovery.source {
        crate::discover::Source::File { path, line } => (path, *line),
        crate::discover::Source::Commit { .. } | crate::discover::Source::Store { .. } => ("", 0),
    }
}
