//! Finds the places of a text where a rule can match, and skips the rest.
//!
//! Every rule says by its [`StartPlace`] what surrounds its matches: a long run of token characters, an assignment, a URL
//! scheme, a marker. Prose and code have few of them. All of them are found by vectorized search, so most bytes of a text
//! without secrets are not looked at one by one. The places are a superset of the matches: a test compares the
//! result with trying every start of every rule.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use memchr::memmem::Finder;

use crate::preceding;
use crate::{SecretRule, StartPlace};

/// Minimum length of a match of a rule with [`StartPlace::Token`]: that of a Slack token.
const MIN_TOKEN_BYTES: usize = 15;

/// Length of the text that is tested at once.
const STRIPE_BYTES: usize = 64;

/// Minimum length of the value of an authorization header.
const MIN_HEADER_BYTES: usize = 16;

/// Maximum bytes from the start of a name to its end: `secret-secret-access-key`, with letters of two or three bytes that
/// differ from these in case only.
const MAX_NAME_BYTES: usize = 32;

/// Bytes of which tokens and the values of headers consist.
const IS_TOKEN_BYTE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let is_extra = matches!(byte as u8, b'_' | b'-' | b'.' | b'+' | b'/' | b'=' | b'~');
        table[byte] = is_extra || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};

/// A place where a rule can match. The order is that in which places are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Candidate {
    /// The end of the start text.
    pub(crate) end: usize,
    pub(crate) start: usize,
    pub(crate) rule: usize,
}

/// Finds candidates for a table of rules.
pub(crate) struct CandidateFinder {
    /// The starts that are searched in runs of token bytes, by first byte.
    run_starts: Vec<Vec<RunStart>>,
    /// Starts of rules that are searched in the whole text.
    markers: Vec<(Finder<'static>, usize)>,
    /// The starts of rules for names, and the rule of each.
    names: (AhoCorasick, Vec<usize>),
    headers: Vec<usize>,
    urls: Vec<usize>,
}

/// A start of a rule that consists of token bytes.
#[derive(Clone, Copy)]
struct RunStart {
    text: &'static str,
    rule: usize,
    /// Begins anywhere in a run, not only with a word.
    is_anywhere: bool,
}

impl CandidateFinder {
    pub(crate) fn new(rules: &'static [SecretRule]) -> Self {
        let starts = || {
            let rules = rules.iter().enumerate();
            rules.flat_map(|(rule, it)| it.starts.iter().map(move |text| (it.place, *text, rule)))
        };
        let is_in_runs = |text: &str| {
            text.len() >= MIN_TOKEN_BYTES && text.bytes().all(|it| IS_TOKEN_BYTE[usize::from(it)])
        };
        let mut run_starts = vec![Vec::new(); 256];
        let mut markers = Vec::new();
        for (place, text, rule) in starts() {
            let is_anywhere = place == StartPlace::Marker;
            if place == StartPlace::Token || (is_anywhere && is_in_runs(text)) {
                let start = RunStart { text, rule, is_anywhere };
                run_starts[usize::from(text.as_bytes()[0])].push(start);
            } else if is_anywhere {
                markers.push((Finder::new(text), rule));
            }
        }
        let names = starts().filter(|(place, ..)| *place == StartPlace::BeforeAssignment);
        let (names, name_rules): (Vec<&str>, Vec<usize>) =
            names.map(|(_, text, rule)| (text, rule)).unzip();
        let names = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(names)
            .expect("a few short names fit into an automaton");
        let with_place = |place| {
            let rules = rules.iter().enumerate();
            rules.filter(move |(_, rule)| rule.place == place).map(|(index, _)| index).collect()
        };
        Self {
            run_starts,
            markers,
            names: (names, name_rules),
            headers: with_place(StartPlace::HeaderName),
            urls: with_place(StartPlace::UrlScheme),
        }
    }

    /// Returns the places of the text where a rule can match, in order and each once.
    pub(crate) fn find(&self, text: &str) -> Vec<Candidate> {
        let mut found = Vec::new();
        for_each_run(text.as_bytes(), |run| {
            self.push_tokens(text, &run, &mut found);
            self.push_headers(text, &run, &mut found);
        });
        for at in memchr::memchr2_iter(b':', b'=', text.as_bytes()) {
            self.push_names(text, at, &mut found);
            self.push_url(text, at, &mut found);
        }
        for (marker, rule) in &self.markers {
            for start in marker.find_iter(text.as_bytes()) {
                found.push(Candidate { start, end: start + marker.needle().len(), rule: *rule });
            }
        }
        if found.len() > 1 {
            found.sort_unstable();
            found.dedup();
        }
        found
    }

    /// Adds the starts in a run: those of tokens at the beginnings of words, and markers.
    fn push_tokens(&self, text: &str, run: &Range<usize>, found: &mut Vec<Candidate>) {
        let bytes = text.as_bytes();
        let after_code = preceding::skip_code_end(bytes, run.start);
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        for at in run.start..=run.end - MIN_TOKEN_BYTES {
            let starts = &self.run_starts[usize::from(bytes[at])];
            if starts.is_empty() {
                continue;
            }
            let begins = at == run.start || at == after_code || !is_word(bytes[at - 1]);
            for start in starts.iter().filter(|start| begins || start.is_anywhere) {
                if bytes[at..].starts_with(start.text.as_bytes()) {
                    let end = at + start.text.len();
                    found.push(Candidate { start: at, end, rule: start.rule });
                }
            }
        }
    }

    /// Adds the name of a header whose value may be the run.
    fn push_headers(&self, text: &str, run: &Range<usize>, found: &mut Vec<Candidate>) {
        if run.len() < MIN_HEADER_BYTES {
            return;
        }
        let before = text[..run.start].trim_end();
        if before.len() == run.start {
            return;
        }
        if let Some(range) = preceding::find_header_name(before) {
            let places = self.headers.iter();
            found.extend(places.map(|rule| Candidate {
                start: range.start,
                end: range.end,
                rule: *rule,
            }));
        }
    }

    /// Adds the names before the assignment sign at this place.
    fn push_names(&self, text: &str, at: usize, found: &mut Vec<Candidate>) {
        let bytes = text.as_bytes();
        // A path of code: `token::Kind`. No value begins with a colon.
        if bytes[at] == b':' && bytes.get(at + 1) == Some(&b':') {
            return;
        }
        let end = preceding::find_name_end(text, at);
        if !preceding::may_end_secret_name(&bytes[..end]) {
            return;
        }
        let window = Input::new(bytes).range(end.saturating_sub(MAX_NAME_BYTES)..end);
        for start in self.names.0.find_overlapping_iter(window) {
            let rule = self.names.1[start.pattern().as_usize()];
            found.push(Candidate { start: start.start(), end: start.end(), rule });
        }
    }

    /// Adds the colon of a URL whose host part has a colon.
    fn push_url(&self, text: &str, at: usize, found: &mut Vec<Candidate>) {
        let Some(host) = text.as_bytes()[at..].strip_prefix(b"://") else { return };
        let is_end = |byte: &u8| {
            matches!(byte, b':' | b'/' | b'@' | b'"' | b'\'' | b'`') || byte.is_ascii_whitespace()
        };
        if host.iter().find(|byte| is_end(byte)) == Some(&b':') {
            let place = |rule: &usize| Candidate { start: at, end: at + 3, rule: *rule };
            found.extend(self.urls.iter().map(place));
        }
    }
}

/// Calls `visit` with each longest run of at least [`MIN_TOKEN_BYTES`] token bytes.
///
/// A few vector instructions tell if a stripe of the text can have part of such a run; most stripes have none.
fn for_each_run(bytes: &[u8], mut visit: impl FnMut(Range<usize>)) {
    let (stripes, rest) = bytes.as_chunks::<STRIPE_BYTES>();
    let mut last_stripe = [b' '; STRIPE_BYTES];
    last_stripe[..rest.len()].copy_from_slice(rest);
    // The bytes at the end of the stripe before that may begin a run, and the end of the last run.
    let (mut open, mut done) = (0, 0);
    for (index, stripe) in stripes.iter().chain([&last_stripe]).enumerate() {
        let mask = mark_token_bytes(stripe);
        if open + mask.trailing_ones() >= MIN_TOKEN_BYTES as u32 || has_long_run(mask) {
            let start = index * STRIPE_BYTES;
            let from = done.max(start.saturating_sub(MIN_TOKEN_BYTES - 1));
            done = visit_runs(bytes, from..start + STRIPE_BYTES, &mut visit);
        }
        open = mask.leading_ones();
    }
}

/// Returns a mask with a bit for each token byte, in the order of the bytes. Comparisons are vectorized, unlike a table.
fn mark_token_bytes(stripe: &[u8; STRIPE_BYTES]) -> u64 {
    const { assert!(STRIPE_BYTES == u64::BITS as usize) };
    let marks = stripe.map(|byte| {
        let is_letter = (byte | 0x20).wrapping_sub(b'a') < 26;
        // `-`, `.`, `/` and the digits follow each other.
        let is_digit_or_sign = byte.wrapping_sub(b'-') <= b'9' - b'-';
        let is_other = (byte == b'+') | (byte == b'=') | (byte == b'_') | (byte == b'~');
        u8::from(is_letter | is_digit_or_sign | is_other)
    });
    let (groups, _) = marks.as_chunks::<8>();
    let mut mask = 0;
    for (index, group) in groups.iter().enumerate() {
        // The product collects the lowest bits of eight bytes in the highest byte.
        let bits = u64::from_le_bytes(*group).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= bits << (8 * index);
    }
    mask
}

/// Returns true if the mask has at least [`MIN_TOKEN_BYTES`] bits in a row.
fn has_long_run(mask: u64) -> bool {
    const { assert!(MIN_TOKEN_BYTES == 15) };
    let two = mask & (mask >> 1);
    let four = two & (two >> 2);
    let eight = four & (four >> 4);
    eight & (eight >> 7) != 0
}

/// Visits the runs that begin in a range, whose start is not inside a run. Returns the end of the last run, or the start.
///
/// It looks at the byte where a run would have its minimum length, and goes back from there to the byte that interrupts it.
fn visit_runs(bytes: &[u8], range: Range<usize>, visit: &mut impl FnMut(Range<usize>)) -> usize {
    let is_token = |byte: &u8| IS_TOKEN_BYTE[usize::from(*byte)];
    // `start..known` are token bytes.
    let (mut start, mut known, mut done) = (range.start, range.start, range.start);
    while start < range.end
        && let Some(ahead) = bytes.get(known..start + MIN_TOKEN_BYTES)
    {
        let end = known + ahead.len();
        match ahead.iter().rposition(|byte| !is_token(byte)) {
            Some(at) => (start, known) = (known + at + 1, end),
            None => {
                let more = bytes[end..].iter().take_while(|byte| is_token(byte)).count();
                done = end + more;
                visit(start..done);
                (start, known) = (done, done);
            }
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mask_agrees_with_the_table_for_every_byte() {
        for byte in 0..=u8::MAX {
            let mask = mark_token_bytes(&[byte; STRIPE_BYTES]);
            assert_eq!(mask, if IS_TOKEN_BYTE[usize::from(byte)] { u64::MAX } else { 0 }, "{byte}");
        }
    }

    #[test]
    fn runs_have_the_minimum_length() {
        let runs = |text: &str| {
            let mut runs = Vec::new();
            for_each_run(text.as_bytes(), |run| runs.push(text[run].to_owned()));
            runs
        };
        let (short, long, longer) = ("x".repeat(14), "y".repeat(15), "z".repeat(40));
        assert!(runs("").is_empty() && runs(&short).is_empty());
        assert_eq!(runs(&long).concat(), long);
        for gap in 1..40 {
            let gap = " ".repeat(gap);
            let text = format!("{gap}{short}{gap}{longer}{gap}{long}{gap}{short}");
            assert_eq!(runs(&text), [longer.clone(), long.clone()], "{gap:?}");
            let text = format!("{long}{gap}{long}");
            assert_eq!(runs(&text), [long.clone(), long.clone()]);
        }
        assert_eq!(runs("a_b-c.d+e/f=g~h0Z"), ["a_b-c.d+e/f=g~h0Z"]);
    }
}
