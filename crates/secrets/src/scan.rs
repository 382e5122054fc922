//! Searches a text for all rules at once.
//!
//! One automaton finds the places where a rule can begin; a rule's pattern is tried only there, from a fixed start and in
//! a bounded window. Text without such places is read once.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::Regex;

use crate::escapes;
use crate::{RULES, ScanPurpose, SecretRule, SecretSpan, StartCondition};

/// Maximum length of a match, without the extension by the rule. Web tokens are the longest.
const MAX_MATCH_BYTES: usize = 16 * 1024;

/// Maximum spaces between a name and its assignment.
const MAX_SPACE_BYTES: usize = 64;

/// The compiled rules.
pub(crate) struct SecretScanner {
    starts: AhoCorasick,
    /// The rules of each start, by the index of the start in the automaton.
    rules_of_start: Vec<Vec<usize>>,
    patterns: Vec<Regex>,
}

pub(crate) static SCANNER: LazyLock<SecretScanner> = LazyLock::new(SecretScanner::new);

impl SecretScanner {
    fn new() -> Self {
        let mut starts: Vec<String> = Vec::new();
        let mut rules_of_start: Vec<Vec<usize>> = Vec::new();
        for (index, rule) in RULES.iter().enumerate() {
            for start in rule.starts {
                let start = start.to_ascii_lowercase();
                match starts.iter().position(|known| *known == start) {
                    Some(at) => rules_of_start[at].push(index),
                    None => {
                        starts.push(start);
                        rules_of_start.push(vec![index]);
                    }
                }
            }
        }
        let starts = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(starts)
            .expect("a few short starts fit into an automaton");
        let compile = |rule: &SecretRule| Regex::new(&format!(r"\A(?:{})", rule.pattern));
        let patterns =
            RULES.iter().map(|rule| compile(rule).expect("a test compiles every pattern"));
        Self { starts, rules_of_start, patterns: patterns.collect() }
    }

    /// Returns all secrets with the indices of their rules, in no order. They may overlap.
    pub(crate) fn find_spans(&self, text: &str, purpose: ScanPurpose) -> Vec<(usize, SecretSpan)> {
        let mut found = Vec::new();
        self.scan_text(text, purpose, &mut |index, range| {
            let value = text[range.clone()].to_owned();
            found.push((index, SecretSpan { rule: &RULES[index], range, value }));
        });
        escapes::for_each_decoded(text, |decoded| {
            self.scan_text(decoded.text(), purpose, &mut |index, range| {
                let value = decoded.text()[range.clone()].to_owned();
                let range = decoded.map_range(range);
                found.push((index, SecretSpan { rule: &RULES[index], range, value }));
            });
        });
        found
    }

    /// Calls `report` with each secret in the text as it is.
    fn scan_text(
        &self,
        text: &str,
        purpose: ScanPurpose,
        report: &mut dyn FnMut(usize, Range<usize>),
    ) {
        // The lines of a key are not searched again, except for what begins with them.
        let mut key_end = 0;
        for start in self.starts.find_overlapping_iter(text) {
            if start.end() <= key_end {
                continue;
            }
            for index in &self.rules_of_start[start.pattern().as_usize()] {
                if let Some(range) = self.match_rule(*index, text, start.range(), purpose) {
                    if RULES[*index].extend.is_some() {
                        key_end = range.end;
                    }
                    report(*index, range);
                }
            }
        }
    }

    /// Returns the range of the secret if the rule matches at this place.
    fn match_rule(
        &self,
        index: usize,
        text: &str,
        start: Range<usize>,
        purpose: ScanPurpose,
    ) -> Option<Range<usize>> {
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
        (accept(tested) && !is_paging).then_some(range)
    }
}

fn meets_condition(condition: StartCondition, before: &str) -> bool {
    let last = before.chars().next_back();
    match condition {
        StartCondition::Anywhere => true,
        StartCondition::WordStart => !last.is_some_and(|c| c.is_alphanumeric() || c == '_'),
        StartCondition::AfterScheme => last.is_some_and(|c| c.is_ascii_alphanumeric()),
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
