//! Replaces secrets in the texts of one answer.
//!
//! An answer has many texts: the lines around a match, the same line in two fields. A secret that is recognized in one of
//! them is replaced in all of them. So the texts are collected first and replaced afterwards.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::{RULES, ScanPurpose, SecretRule, find_spans, heuristics, key_block};

/// Minimum length of a secret that is also replaced where no rule recognizes it.
const MIN_REPEATED_BYTES: usize = 8;

/// Collects the secrets of an answer, then replaces them.
#[derive(Default)]
pub struct SecretRedactor {
    /// Recognized secrets by their decoded text.
    values: BTreeMap<String, &'static SecretRule>,
    /// Number of hits by rule id.
    hits: BTreeMap<&'static str, u64>,
    repeated: Option<(AhoCorasick, Vec<&'static SecretRule>)>,
}

impl SecretRedactor {
    /// Searches a text and remembers its secrets. Returns true if there are any.
    pub fn collect(&mut self, text: &str) -> bool {
        let spans = find_spans(text, ScanPurpose::Output);
        for span in &spans {
            self.remember(span.rule, &span.value);
        }
        !spans.is_empty()
    }

    /// Like [`SecretRedactor::collect`], for the member of a JSON object: its name and value are an assignment.
    pub fn collect_member(&mut self, name: &str, value: &str) -> bool {
        match find_member_rule(name, value) {
            Some(rule) => {
                self.remember(rule, value);
                true
            }
            None => false,
        }
    }

    /// Remembers lines that belong to a private key whose beginning or end is in another text.
    pub fn collect_key_lines(&mut self, lines: &[String]) {
        let rule = RULES.iter().find(|rule| rule.extend.is_some());
        if let Some(rule) = rule.filter(|_| !lines.is_empty()) {
            self.remember(rule, &lines.join("\n"));
        }
    }

    fn remember(&mut self, rule: &'static SecretRule, value: &str) {
        *self.hits.entry(rule.id).or_default() += 1;
        self.repeated = None;
        if rule.extend.is_some() {
            let lines: Vec<_> = key_block::body_lines(value).map(str::to_owned).collect();
            self.values.extend(lines.into_iter().map(|line| (line, rule)));
        } else if value.len() >= MIN_REPEATED_BYTES {
            self.values.insert(value.to_owned(), rule);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// Returns the number of hits by rule id.
    pub fn hits(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.hits.iter().map(|(id, count)| (*id, *count))
    }

    /// Returns the rules that matched, in the order of the table.
    pub fn rules(&self) -> impl Iterator<Item = &'static SecretRule> {
        RULES.iter().filter(|rule| self.hits.contains_key(rule.id))
    }

    /// Returns the text with all secrets replaced, or `None` if it has none.
    pub fn redact(&mut self, text: &str) -> Option<String> {
        let spans = find_spans(text, ScanPurpose::Output);
        let mut ranges: Vec<_> = spans.into_iter().map(|span| (span.range, span.rule)).collect();
        let (repeated, rules) = self.repeated_values();
        let matches = repeated.find_iter(text);
        ranges.extend(matches.map(|found| (found.range(), rules[found.pattern().as_usize()])));
        if ranges.is_empty() {
            return None;
        }
        ranges.sort_by_key(|(range, _)| range.start);
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (range, rule) in ranges {
            if range.start >= at {
                out.push_str(&text[at..range.start]);
                out.push_str(&marker(rule));
            }
            at = at.max(range.end);
        }
        out.push_str(&text[at..]);
        Some(out)
    }

    /// Returns the value of a member without its secret, or `None` if it has none.
    pub fn redact_member(&mut self, name: &str, value: &str) -> Option<String> {
        match find_member_rule(name, value) {
            Some(rule) => Some(marker(rule)),
            None => self.redact(value),
        }
    }

    fn repeated_values(&mut self) -> &(AhoCorasick, Vec<&'static SecretRule>) {
        let values = &self.values;
        self.repeated.get_or_insert_with(|| {
            let automaton = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(values.keys())
                .expect("the secrets of an answer are smaller than the answer");
            (automaton, values.values().copied().collect())
        })
    }
}

/// Returns the text that replaces a secret. It does not depend on the secret.
fn marker(rule: &SecretRule) -> String {
    format!("[redacted: {}]", rule.description)
}

/// Returns the rule for a JSON member whose name says that its value is a secret.
fn find_member_rule(name: &str, value: &str) -> Option<&'static SecretRule> {
    if !(8..=256).contains(&value.len()) || !heuristics::is_secret_name(name) {
        return None;
    }
    let is_one_word = !value.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`'));
    (is_one_word && heuristics::accept_quoted_in_output(value))
        .then(|| RULES.iter().find(|rule| rule.id == "quoted-password"))
        .flatten()
}
