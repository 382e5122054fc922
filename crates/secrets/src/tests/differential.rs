//! Compares the search, which looks at few places, with a reference that tries every start of every rule everywhere.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use proptest::prelude::*;

use super::{cases, hex, noise, random_texts, upper};
use crate::candidates::Candidate;
use crate::scan::SCANNER;
use crate::{RULES, ScanPurpose};

/// All starts of all rules in any case, with the rule of each.
static ALL_STARTS: LazyLock<(AhoCorasick, Vec<usize>)> = LazyLock::new(|| {
    let starts = RULES.iter().enumerate();
    let starts = starts.flat_map(|(rule, it)| it.starts.iter().map(move |start| (start, rule)));
    let (texts, rules): (Vec<&str>, Vec<usize>) = starts.unzip();
    let automaton = AhoCorasick::builder().ascii_case_insensitive(true).build(texts).unwrap();
    (automaton, rules)
});

fn all_candidates(text: &str) -> Vec<Candidate> {
    let (automaton, rules) = &*ALL_STARTS;
    let starts = automaton.find_overlapping_iter(text).map(|start| Candidate {
        end: start.end(),
        start: start.start(),
        rule: rules[start.pattern().as_usize()],
    });
    let mut starts: Vec<_> = starts.collect();
    starts.sort_unstable();
    starts
}

/// Asserts that both searches find the same secrets. Returns their number.
fn compare(text: &str) -> usize {
    let mut count = 0;
    for purpose in [ScanPurpose::Keep, ScanPurpose::Output] {
        let found = format!("{:?}", SCANNER.find_spans(text, purpose));
        let expected = SCANNER.find_spans_at(text, purpose, all_candidates);
        count += expected.len();
        assert_eq!(found, format!("{expected:?}"), "{text:?}");
    }
    count
}

/// Texts before and after a secret: white space of every kind, words, codes, quotes, and characters of two to four bytes.
const NEIGHBORS: [&str; 26] = [
    "",
    " ",
    "\n",
    "\t",
    "\u{a0}",
    "\u{2003}",
    "\u{b}",
    "\"",
    "'",
    "`",
    "x",
    "_",
    "é",
    "ſ",
    "\u{212a}",
    "\u{1f511}",
    "-",
    ".",
    "/",
    "=",
    ":",
    "%20",
    "\u{1b}[31m",
    "\\033[1;31m",
    "\\n",
    "(",
];

#[test]
fn finds_planted_secrets_at_all_offsets_between_all_neighbors() {
    let mut found = 0;
    for (_, secrets, innocents) in cases() {
        for secret in secrets.iter().chain(&innocents) {
            for (at, before) in NEIGHBORS.iter().enumerate() {
                let after = NEIGHBORS[(at * 7 + secret.len()) % NEIGHBORS.len()];
                found += compare(&format!("{before}{secret}{after}"));
                found += compare(&format!("one word {before}{secret}{after} more words"));
            }
            // The jumps of the search are 15 bytes long.
            for offset in 0..40 {
                let prose = "the quick brown fox jumps over a lazy dog ";
                found += compare(&format!("{}{secret} {prose}", &prose[..offset]));
                found += compare(&format!("{}{secret}", " ".repeat(offset)));
                found += compare(&format!("{} {secret}\n", "x".repeat(offset)));
            }
        }
    }
    assert!(found > 10_000, "{found}");
}

#[test]
fn finds_secrets_in_all_promised_encodings() {
    for (_, secrets, _) in cases() {
        for secret in secrets {
            let mut text = serde_json::json!({"note": [format!("a\n{secret}")]}).to_string();
            for round in 0..4 {
                assert!(compare(&text) > 0 || round == 3, "{text}");
                text = serde_json::Value::from(text).to_string();
            }
            for kind in ["\\u", "\\x"] {
                let spelled = secret.chars().map(|c| match kind {
                    "\\u" => format!("\\u{:04x}", u32::from(c)),
                    _ => format!("\\x{:02x}", u32::from(c)),
                });
                assert!(compare(&spelled.collect::<String>()) > 0, "{secret}");
            }
        }
    }
}

#[test]
fn finds_names_with_letters_and_spaces_outside_ascii() {
    let value = noise(40);
    for text in [
        format!("aws_secret_access_\u{212a}ey = {value}"),
        format!("secret acce\u{17f}s key: '{value}'"),
        format!("AWS_SECRET_KEY\u{a0}\u{2003}=\u{3000}{value}"),
        format!("Account{}\u{b}\u{2029}= {value}", "Key"),
        format!("\"private{}\"\u{2003}: \"{}\"", "_key_id", hex(40)),
        format!("bearer\u{2003}\u{a0}{value}"),
        format!("Authorization\u{a0}:\u{a0}to\u{212a}en {value}"),
        format!("Authorization = 'ba\u{17f}ic\t{value}"),
    ] {
        assert!(compare(&text) > 0, "{text}");
    }
}

#[test]
fn finds_tokens_after_codes() {
    let token = super::fake_github_token();
    for before in [
        "\u{1b}[31m",
        "\u{1b}[1;38;5;9m",
        "\u{1b}(B",
        "\u{9b}1m",
        "\\033[0;31m",
        "^[[31m",
        "%20",
        "a%3D",
    ] {
        let text = format!("x {before}{token}");
        assert_eq!(super::find_rule_id(&text), Some("github-token"), "{text}");
        let json = serde_json::json!({"log": [text]}).to_string();
        assert!(compare(&json) > 0, "{json}");
    }
    assert_eq!(super::find_rule_id(&format!("[31m{token}")), None);
}

#[test]
fn finds_the_same_in_random_mixtures() {
    let found: usize = random_texts(20_000).map(|text| compare(&text)).sum();
    assert!(found > 1_000, "{found}");
}

#[test]
fn every_cut_of_a_secret_is_treated_alike() {
    for (_, secrets, _) in cases() {
        for secret in secrets {
            for at in (0..secret.len()).filter(|at| secret.is_char_boundary(*at)) {
                compare(&secret[at..]);
                compare(&secret[..at]);
                compare(&format!("{} {}", &secret[..at], &secret[at..]));
            }
        }
    }
}

/// Parts of secrets, of what surrounds them, and of what only looks like them.
fn any_part() -> impl Strategy<Value = String> {
    let starts: Vec<String> =
        RULES.iter().flat_map(|rule| rule.starts.iter().map(|it| (*it).to_owned())).collect();
    let values: Vec<String> = [8, 10, 15, 16, 20, 35, 36, 40, 64]
        .iter()
        .flat_map(|length| [noise(*length), hex(*length), upper(*length)])
        .collect();
    let words: Vec<String> = NEIGHBORS
        .iter()
        .copied()
        .chain([
            "secret",
            "access",
            "key",
            "Key",
            "aws",
            "AWS",
            "to\u{212a}en",
            "\u{212a}ey",
            "acce\u{17f}s",
            "basic",
            "token",
            "private_key_id",
            "=>",
            ":=",
            " = ",
            "@",
            "://",
            "\u{1b}(B",
            "-----",
            "\r\n",
            "\\u0067",
            "\\\"",
            "\\\\",
            "KEY BLOCK-----",
            "PRIVATE KEY-----",
            "ghp",
            "_id\"",
            "\u{9b}1m",
        ])
        .map(str::to_owned)
        .collect();
    prop_oneof![
        prop::sample::select(starts.clone()),
        prop::sample::select(starts).prop_map(|start| start.to_ascii_uppercase()),
        prop::sample::select(values),
        prop::sample::select(words),
        "[ -~]{0,12}",
        "[a-zA-Z0-9_.+/=~-]{10,40}",
        "[ \t\n]{1,70}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn finds_the_same_as_the_reference(parts in prop::collection::vec(any_part(), 1..14)) {
        compare(&parts.concat());
    }
}
