//! Pattern, rule, decision or issue: by the name of a field or a file where there is one, else by wording.
//!
//! The rule for wording is plain, so that a person can foresee it: the first cue in the text decides.

use std::sync::LazyLock;

use regex::Regex;
use store::context::Kind;

/// What comes later in a text is about details.
const LOOKED_AT: usize = 400;

/// The cues of each kind. A group's name is the kind's.
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
    .expect("a test compiles it")
});

/// What the first cue of a text says it is.
pub(super) fn by_wording(text: &str) -> Option<Kind> {
    let start = text.char_indices().nth(LOOKED_AT).map_or(text, |(at, _)| &text[..at]);
    let found = CUES.captures(start)?;
    Kind::ALL.into_iter().find(|kind| found.name(kind.as_str()).is_some())
}

/// What the name of a field, its value, or a file says: `decision`, `best_practices.md`, `known-issues`.
pub(super) fn by_name(name: &str) -> Option<Kind> {
    let name = name.to_lowercase();
    let names: Vec<_> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let says =
        |words: &[&str]| words.iter().any(|word| names.iter().any(|name| name.starts_with(word)));
    if says(&["decision", "adr", "choice", "decided"]) {
        Some(Kind::Decision)
    } else if says(&["rule", "convention", "guideline", "constraint", "policy", "requirement"]) {
        Some(Kind::Rule)
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
        Some(Kind::Pattern)
    } else if says(&[
        "issue", "bug", "problem", "fix", "error", "todo", "incident", "gotcha", "pitfall",
        "blocker",
    ]) {
        Some(Kind::Issue)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cue_decides() {
        let cases = [
            (Some(Kind::Pattern), "Use JWT tokens in httpOnly cookies"),
            (Some(Kind::Pattern), "We always wrap errors by `context`."),
            (Some(Kind::Pattern), "Prefer composition; never inherit."),
            (Some(Kind::Rule), "Never use unwrap outside tests."),
            (Some(Kind::Rule), "Handlers MUST NOT block."),
            (Some(Kind::Rule), "Always use the guard."),
            (Some(Kind::Decision), "We decided to use SQLite."),
            (
                Some(Kind::Decision),
                "SQLite instead of Postgres, because nothing is to be installed.",
            ),
            (Some(Kind::Issue), "Token refresh race condition fixed with mutex lock"),
            (Some(Kind::Issue), "Fix: the parser must not panic"),
            (None, "Completed EDA"),
            (None, "The musty prefix of a fixture"),
            (None, ""),
        ];
        for (kind, text) in cases {
            assert_eq!(by_wording(text), kind, "{text}");
        }
    }

    #[test]
    fn names_say_it_without_reading() {
        let cases = [
            (Some(Kind::Decision), "decisions.jsonl"),
            (Some(Kind::Pattern), "best_practices.md"),
            (Some(Kind::Issue), "bug_fix"),
            (Some(Kind::Rule), "Conventions"),
            (None, "progress_log.jsonl"),
            (None, "milestone"),
        ];
        for (kind, name) in cases {
            assert_eq!(by_name(name), kind, "{name}");
        }
    }
}
