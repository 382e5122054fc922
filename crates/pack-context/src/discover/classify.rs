//! Classifies text as pattern, rule, decision or issue, by field or file name if there is one, else by wording.
//!
//! The wording rule is simple, so that users can predict it: the first cue in the text decides.

use std::sync::LazyLock;

use regex::Regex;
use store::context::DiscoveryKind;

/// Only this many characters are examined; later text is usually detail.
const MAX_EXAMINED: usize = 400;

/// Cues of each kind. Each capture group is named after its kind.
static CUES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)\b(?:
          (?P<decision> decided | decision | we\ chose | chosen | chose | adopt(?:ed|s)? | opted | settled\ on | agreed | went\ with
                      | adr(?:-?\d+)? | rejected\ alternatives? | instead\ of .{1,60} because )
        | (?P<pattern>  we\ always | by\ convention | prefer(?:red|ably|s)? | favou?r | we\ use | uses? | using | pattern | idiom
                      | follow(?:s)? | structured\ as | typically )
        | (?P<rule>     must(?:\ not|n't)? | never | always | should(?:\ not|n't)? | shall | do\ not | don'?t | required? | mandatory
                      | forbidden | not\ allowed | may\ not | cannot | avoid | ensure | make\ sure | only | no\ \w+ )
        | (?P<issue>    bugs? | fix(?:e[sd])? | broken | breaks | fails? | failed | failure | regression | workaround | known\ issue
                      | todo | fixme | hack | xxx | crash(?:e[sd])? | leaks? | race\ condition | deadlock | flaky | revert(?:s|ed)? )
        )\b",
    )
    .expect("valid regex, covered by tests")
});

/// Returns the kind of the first cue in the text, if any.
pub(super) fn kind_from_wording(text: &str) -> Option<DiscoveryKind> {
    let start = text.char_indices().nth(MAX_EXAMINED).map_or(text, |(at, _)| &text[..at]);
    let found = CUES.captures(start)?;
    DiscoveryKind::ALL.into_iter().find(|kind| found.name(kind.as_str()).is_some())
}

/// Returns the kind indicated by a field name, a field value or a file name.
///
/// Examples: `decision`, `best_practices.md`, `known-issues`.
pub(super) fn kind_from_name(name: &str) -> Option<DiscoveryKind> {
    let name = name.to_lowercase();
    let names: Vec<_> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let says =
        |words: &[&str]| words.iter().any(|word| names.iter().any(|name| name.starts_with(word)));
    if says(&["decision", "adr", "choice", "decided"]) {
        Some(DiscoveryKind::Decision)
    } else if says(&["rule", "convention", "guideline", "constraint", "policy", "requirement"]) {
        Some(DiscoveryKind::Rule)
    } else if says(&[
        "pattern",
        "practice",
        "idiom",
        "technique",
        "approach",
        "lesson",
        "learning",
        "insight",
    ]) {
        Some(DiscoveryKind::Pattern)
    } else if says(&[
        "issue", "bug", "problem", "fix", "error", "todo", "incident", "gotcha", "pitfall",
        "blocker",
    ]) {
        Some(DiscoveryKind::Issue)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_cue_decides_kind() {
        let cases = [
            (Some(DiscoveryKind::Pattern), "Use JWT tokens in httpOnly cookies"),
            (Some(DiscoveryKind::Pattern), "We always wrap errors by `context`."),
            (Some(DiscoveryKind::Pattern), "Prefer composition; never inherit."),
            (Some(DiscoveryKind::Rule), "Never use unwrap outside tests."),
            (Some(DiscoveryKind::Rule), "Handlers MUST NOT block."),
            (Some(DiscoveryKind::Rule), "Always use the guard."),
            (Some(DiscoveryKind::Decision), "We decided to use SQLite."),
            (
                Some(DiscoveryKind::Decision),
                "SQLite instead of Postgres, because nothing is to be installed.",
            ),
            (Some(DiscoveryKind::Issue), "Token refresh race condition fixed with mutex lock"),
            (Some(DiscoveryKind::Issue), "Fix: the parser must not panic"),
            (None, "Completed EDA"),
            (None, "The musty prefix of a fixture"),
            (None, ""),
        ];
        for (kind, text) in cases {
            assert_eq!(kind_from_wording(text), kind, "{text}");
        }
    }

    #[test]
    fn classifies_by_name() {
        let cases = [
            (Some(DiscoveryKind::Decision), "decisions.jsonl"),
            (Some(DiscoveryKind::Pattern), "best_practices.md"),
            (Some(DiscoveryKind::Issue), "bug_fix"),
            (Some(DiscoveryKind::Rule), "Conventions"),
            (None, "progress_log.jsonl"),
            (None, "milestone"),
        ];
        for (kind, name) in cases {
            assert_eq!(kind_from_name(name), kind, "{name}");
        }
    }
}
