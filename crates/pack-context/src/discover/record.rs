//! Decision records: one file, one decision. Knows the forms of Nygard (sections Status, Context, Decision, Consequences)
//! and of MADR (front matter, Considered Options, Decision Outcome).

use store::context::Kind;

use super::markdown::{self, heading};
use super::{Draft, date, tidy_line};

/// How much of a section is told; the file has the rest.
const MAX_SECTION: usize = 1_500;

/// The sections that tell a decision, as they are told: the outcome first.
const SECTIONS: [(&str, &[&str]); 5] = [
    (
        "Decision",
        &["decision", "decision outcome", "outcome", "our decision", "the decision", "resolution"],
    ),
    (
        "Context",
        &[
            "context",
            "context and problem statement",
            "problem",
            "problem statement",
            "issue",
            "background",
            "motivation",
        ],
    ),
    ("Drivers", &["decision drivers", "drivers", "forces"]),
    (
        "Options",
        &[
            "considered options",
            "options considered",
            "alternatives",
            "alternatives considered",
            "options",
        ],
    ),
    (
        "Consequences",
        &[
            "consequences",
            "positive consequences",
            "negative consequences",
            "implications",
            "rationale",
            "justification",
        ],
    ),
];

#[derive(Debug)]
struct Section<'a> {
    level: usize,
    name: String,
    text: Vec<&'a str>,
}

/// The decision of a record; None where the file is none (an index, a glossary).
pub(super) fn decision(path: &str, text: &str) -> Option<Draft> {
    let (front, skipped) = markdown::front_matter(text);
    let of = |key: &str| front.iter().find(|(k, _)| k.eq_ignore_ascii_case(key)).map(|(_, v)| *v);
    let mut sections = vec![Section { level: 0, name: String::new(), text: Vec::new() }];
    let (mut line, mut fenced) = (None, false);
    for (number, text) in text.lines().enumerate().skip(skipped) {
        fenced ^= text.trim_start().starts_with("```");
        match heading(text).filter(|_| !fenced) {
            Some((level, name)) => {
                line = line.or(Some(number + 1));
                sections.push(Section { level, name: name.to_owned(), text: Vec::new() });
            }
            None => sections.last_mut()?.text.push(text),
        }
    }
    let title =
        sections.iter().find(|section| section.level == 1).map(|section| untitled(&section.name));
    let title = of("title").or(title).map_or_else(|| stem(path), str::to_owned);
    let status = of("status").map(str::to_owned).or_else(|| status(&sections));
    let told: Vec<_> =
        SECTIONS.iter().filter_map(|(label, names)| tell(&sections, label, names)).collect();
    if told.is_empty() && status.is_none() {
        return None;
    }
    let mut content = Vec::new();
    // Whoever finds it must see at once whether it still holds.
    if let Some(status) = &status {
        content.push(format!("Status: {}", tidy_line(status, 200)));
    }
    content.extend(told);
    let line = u32::try_from(line.unwrap_or(1)).unwrap_or(u32::MAX);
    let mut draft = Draft::new(line, Kind::Decision, content.join("\n\n"));
    draft.title = Some(title);
    let dated = of("date").or_else(|| labelled(&sections, "date"));
    draft.date = dated.and_then(date::parse);
    Some(draft)
}

/// The text of the sections with one of these names, those below them included.
fn tell(sections: &[Section<'_>], label: &str, names: &[&str]) -> Option<String> {
    let named = |section: &Section<'_>| {
        let name = section.name.trim_end_matches(':').to_lowercase();
        section.level > 1 && names.contains(&name.as_str())
    };
    let mut lines = Vec::new();
    let mut within = None;
    for section in sections {
        within = within
            .filter(|level| section.level > *level)
            .or(named(section).then_some(section.level));
        if within.is_some() {
            // A section of its own inside, such as Consequences in MADR, is told under its own name.
            let elsewhere = !named(section)
                && SECTIONS.iter().any(|(_, names)| names.contains(&&*section.name.to_lowercase()));
            if elsewhere {
                continue;
            }
            lines.extend(
                section.text.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty()),
            );
        }
    }
    let text = super::cut(lines.join("\n").trim(), MAX_SECTION);
    (!text.is_empty()).then(|| format!("{label}: {text}"))
}

/// The section Status, or a line `Status: …` or `* Status: …`.
fn status(sections: &[Section<'_>]) -> Option<String> {
    let section = sections.iter().find(|section| section.name.eq_ignore_ascii_case("status"));
    let text = section.map(|section| section.text.join(" "));
    text.filter(|text| !text.trim().is_empty())
        .or_else(|| labelled(sections, "status").map(str::to_owned))
}

/// The value of a line `Label: value` before the first section, however it is marked up.
fn labelled<'a>(sections: &[Section<'a>], label: &str) -> Option<&'a str> {
    let head = sections.iter().take_while(|section| section.level <= 1);
    head.flat_map(|section| &section.text).find_map(|line| {
        let line = line.trim_start_matches(['*', '-', '_', ' ']);
        let start = line.get(..label.len()).filter(|start| start.eq_ignore_ascii_case(label))?;
        let value = line[start.len()..].trim_start_matches(['*', '_', ' ']).strip_prefix(':')?;
        Some(value.trim_matches(['*', '_', ' '])).filter(|value| !value.is_empty())
    })
}

/// `1. Use X`, `ADR-0007: Use X` and `[Accepted] Use X` are about `Use X`.
fn untitled(title: &str) -> &str {
    let upper = title.to_ascii_uppercase();
    let rest = if upper.starts_with("ADR") {
        title[3..].trim_start_matches(['-', ' ', '#'])
    } else {
        title
    };
    let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let without = number.trim_start_matches(['.', ':', '-', '–', '—', ')', ' ']);
    if number.len() == rest.len() && rest.len() == title.len() || without.is_empty() {
        title
    } else {
        without
    }
}

/// `docs/adr/0001-use-sqlite.md` is about "use sqlite".
fn stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let words = stem.trim_start_matches(|c: char| c.is_ascii_digit()).replace(['-', '_'], " ");
    if words.trim().is_empty() { stem.to_owned() } else { words.trim().to_owned() }
}
