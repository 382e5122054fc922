//! Searches a text for all rules at once.
//!
//! A rule's pattern is tried only at the places that `candidates.rs` finds, from a fixed start and in a bounded window.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::candidates::{Candidate, CandidateFinder};
use crate::{RULES, ScanPurpose, SecretRule, SecretSpan, StartCondition};
use crate::{escapes, preceding};

/// Maximum length of a match, without the extension by the rule. Web tokens are the longest.
const MAX_MATCH_BYTES: usize = 16 * 1024;

/// Minimum length of a text with a secret: a letter and `://:p@h`.
const MIN_TEXT_BYTES: usize = 8;

/// Maximum spaces between a name and its assignment.
const MAX_SPACE_BYTES: usize = 64;

/// The compiled rules.
pub(crate) struct SecretScanner {
    candidates: CandidateFinder,
    patterns: Vec<Regex>,
}

pub(crate) static SCANNER: LazyLock<SecretScanner> = LazyLock::new(SecretScanner::new);

impl SecretScanner {
    fn new() -> Self {
        let compile = |rule: &SecretRule| Regex::new(&format!(r"\A(?:{})", rule.pattern));
        let patterns =
            RULES.iter().map(|rule| compile(rule).expect("a test compiles every pattern"));
        Self { candidates: CandidateFinder::new(RULES), patterns: patterns.collect() }
    }

    /// Returns all secrets with the indices of their rules, in no order. They may overlap.
    pub(crate) fn find_spans(&self, text: &str, purpose: ScanPurpose) -> Vec<(usize, SecretSpan)> {
        if text.len() < MIN_TEXT_BYTES {
            return Vec::new();
        }
        self.find_spans_at(text, purpose, |text| self.candidates.find(text))
    }

    /// Like [`SecretScanner::find_spans`], with the places to try in a text from `find_candidates`.
    pub(crate) fn find_spans_at(
        &self,
        text: &str,
        purpose: ScanPurpose,
        find_candidates: impl Fn(&str) -> Vec<Candidate>,
    ) -> Vec<(usize, SecretSpan)> {
        let mut found = Vec::new();
        self.try_candidates(text, &find_candidates(text), purpose, &mut |index, range, context| {
            let value = text[range.clone()].to_owned();
            found.push((index, SecretSpan { rule: &RULES[index], range, context, value }));
        });
        escapes::for_each_decoded(text, |decoded| {
            let text = decoded.text();
            self.try_candidates(
                text,
                &find_candidates(text),
                purpose,
                &mut |index, range, context| {
                    let value = text[range.clone()].to_owned();
                    let (range, context) = (decoded.map_range(range), decoded.map_range(context));
                    found.push((index, SecretSpan { rule: &RULES[index], range, context, value }));
                },
            );
        });
        found
    }

    /// Calls `report` with each secret that begins at one of the places, which are in order, and with its context.
    fn try_candidates(
        &self,
        text: &str,
        candidates: &[Candidate],
        purpose: ScanPurpose,
        report: &mut dyn FnMut(usize, Range<usize>, Range<usize>),
    ) {
        // The lines of a key are not searched again, except for what begins with them.
        let mut key_end = 0;
        for Candidate { start, end, rule } in candidates {
            if *end <= key_end {
                continue;
            }
            if let Some((range, context)) = self.match_rule(*rule, text, *start..*end, purpose) {
                if RULES[*rule].extend.is_some() {
                    key_end = range.end;
                }
                report(*rule, range, context);
            }
        }
    }

    /// Returns the range of the secret and that of its context if the rule matches at this place.
    fn match_rule(
        &self,
        index: usize,
        text: &str,
        start: Range<usize>,
        purpose: ScanPurpose,
    ) -> Option<(Range<usize>, Range<usize>)> {
        let (rule, at) = (&RULES[index], start.start);
        if !meets_condition(rule.condition, &text[..at]) {
            return None;
        }
        if rule.is_assignment && !may_be_assignment(&text.as_bytes()[start.end..]) {
            return None;
        }
        let window = cut_window(&text[at..], MAX_MATCH_BYTES);
        let regex = &self.patterns[index];
        if !regex.is_match(window) {
            return None;
        }
        let groups = regex.captures(window)?;
        let whole = groups.get(0)?;
        let candidate = groups.name("v").unwrap_or(whole);
        let mut range = at + candidate.start()..at + candidate.end();
        let tested = match rule.extend {
            Some(extend) => {
                range.end = at + extend(&text[at..]).max(candidate.end());
                &text[range.clone()]
            }
            None => candidate.as_str(),
        };
        let accept = match purpose {
            ScanPurpose::Keep => rule.accept,
            ScanPurpose::Output => rule.accept_in_output,
        };
        let is_paging = rule.is_assignment
            && purpose == ScanPurpose::Output
            && crate::heuristics::is_harmless_name(&text[..at], whole.as_str());
        // The last character of a URL's scheme is not part of the match, but required.
        let before = usize::from(rule.condition == StartCondition::AfterScheme);
        let context = at - before..range.end.max(at + whole.end());
        (accept(tested) && !is_paging).then_some((range, context))
    }
}

fn meets_condition(condition: StartCondition, before: &str) -> bool {
    match condition {
        StartCondition::Anywhere => true,
        StartCondition::WordStart => preceding::is_word_boundary(before),
        StartCondition::AfterScheme => {
            before.chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric())
        }
    }
}

/// Returns false if the text after a name is certainly not an assignment. It spares the pattern for most mentions of a
/// name in code. It looks at a bounded number of bytes, so that repeated names cost linear time.
fn may_be_assignment(after: &[u8]) -> bool {
    let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'`');
    let next = after.iter().take(MAX_SPACE_BYTES).find(|byte| !is_space(byte));
    next.is_some_and(|byte| matches!(byte, b':' | b'='))
}

fn cut_window(text: &str, limit: usize) -> &str {
    match text.len() > limit {
        true => &text[..text.floor_char_boundary(limit)],
        false => text,
    }
}
