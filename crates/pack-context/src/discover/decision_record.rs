//! Parses decision records, where one file holds one decision.
//!
//! Supports the formats of Nygard (sections Status, Context, Decision, Consequences) and MADR (front matter, Considered
//! Options, Decision Outcome).

use store::context::DiscoveryKind;

use super::markdown::{self, parse_heading};
use super::{DiscoveryDraft, date, sanitize_line};

/// Maximum characters kept of one section.
const MAX_SECTION: usize = 1_500;

/// Sections that are kept, with their labels and accepted headings, in output order.
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
struct RecordSection<'a> {
    level: usize,
    name: String,
    text: Vec<&'a str>,
}

/// Returns the decision of a record, or `None` if the file is not a record, such as an index or a glossary.
pub(super) fn parse_decision_record(path: &str, text: &str) -> Option<DiscoveryDraft> {
    let (front, skipped) = markdown::parse_front_matter(text);
    let field =
        |key: &str| front.iter().find(|(k, _)| k.eq_ignore_ascii_case(key)).map(|(_, v)| *v);
    let mut sections = vec![RecordSection { level: 0, name: String::new(), text: Vec::new() }];
    let (mut line, mut fenced) = (None, false);
    for (number, text) in text.lines().enumerate().skip(skipped) {
        fenced ^= text.trim_start().starts_with("```");
        match parse_heading(text).filter(|_| !fenced) {
            Some((level, name)) => {
                line = line.or(Some(number + 1));
                sections.push(RecordSection { level, name: name.to_owned(), text: Vec::new() });
            }
            None => sections.last_mut()?.text.push(text),
        }
    }
    let title = sections
        .iter()
        .find(|section| section.level == 1)
        .map(|section| strip_record_number(&section.name));
    let title = field("title").or(title).map_or_else(|| title_from_path(path), str::to_owned);
    let status = field("status").map(str::to_owned).or_else(|| find_status(&sections));
    let rendered: Vec<_> = SECTIONS
        .iter()
        .filter_map(|(label, names)| render_section(&sections, label, names))
        .collect();
    if rendered.is_empty() && status.is_none() {
        return None;
    }
    let mut content = Vec::new();
    // The status comes first, because it says if the decision still holds.
    if let Some(status) = &status {
        content.push(format!("Status: {}", sanitize_line(status, 200)));
    }
    content.extend(rendered);
    let line = u32::try_from(line.unwrap_or(1)).unwrap_or(u32::MAX);
    let mut draft = DiscoveryDraft::new(line, DiscoveryKind::Decision, content.join("\n\n"));
    draft.title = Some(title);
    let dated = field("date").or_else(|| find_labeled_value(&sections, "date"));
    draft.date = dated.and_then(date::parse_date);
    Some(draft)
}

/// Returns the labeled text of the sections with one of these names, including their subsections.
fn render_section(sections: &[RecordSection<'_>], label: &str, names: &[&str]) -> Option<String> {
    let named = |section: &RecordSection<'_>| {
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
            // A nested section with its own label, such as Consequences in MADR, is rendered separately.
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
    let text = super::truncate_chars(lines.join("\n").trim(), MAX_SECTION);
    (!text.is_empty()).then(|| format!("{label}: {text}"))
}

/// Returns the text of the Status section, or of a line `Status: …` or `* Status: …`.
fn find_status(sections: &[RecordSection<'_>]) -> Option<String> {
    let section = sections.iter().find(|section| section.name.eq_ignore_ascii_case("status"));
    let text = section.map(|section| section.text.join(" "));
    text.filter(|text| !text.trim().is_empty())
        .or_else(|| find_labeled_value(sections, "status").map(str::to_owned))
}

/// Returns the value of a line `Label: value` before the first section, ignoring emphasis and list markers.
fn find_labeled_value<'a>(sections: &[RecordSection<'a>], label: &str) -> Option<&'a str> {
    let head = sections.iter().take_while(|section| section.level <= 1);
    head.flat_map(|section| &section.text).find_map(|line| {
        let line = line.trim_start_matches(['*', '-', '_', ' ']);
        let start = line.get(..label.len()).filter(|start| start.eq_ignore_ascii_case(label))?;
        let value = line[start.len()..].trim_start_matches(['*', '_', ' ']).strip_prefix(':')?;
        Some(value.trim_matches(['*', '_', ' '])).filter(|value| !value.is_empty())
    })
}

/// Strips the record number from a title: `1. Use X` and `ADR-0007: Use X` become `Use X`.
fn strip_record_number(title: &str) -> &str {
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

/// Derives a title from the path: `docs/adr/0001-use-sqlite.md` becomes "use sqlite".
fn title_from_path(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let words = stem.trim_start_matches(|c: char| c.is_ascii_digit()).replace(['-', '_'], " ");
    if words.trim().is_empty() { stem.to_owned() } else { words.trim().to_owned() }
}
