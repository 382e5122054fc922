//! The table of phrases that do not belong in a description, and its matcher.
//!
//! A phrase is a sequence of words: `a|b` is a choice, `..3` skips up to three words of the same sentence. It is matched
//! against folded text (see `fold`), so case, white space, accents and look-alikes make no difference. There are three
//! placeholders: `KEYFILE` is a file of keys or credentials (`~/.ssh`), `SECRET` another location of secrets, `URL` a
//! web address. `.` ends a sentence. `!a|b` at the start excludes matches right after one of these words in the same
//! sentence, so that "if true, do not ask" is not an instruction.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// The confidence of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhraseGrade {
    /// No honest description contains this.
    Strong,
    /// An instruction to the model: often clumsy, sometimes hostile.
    Soft,
}

use PhraseGrade::{Soft, Strong};

/// Markers that are matched as plain text.
const MARKERS: &[(PhraseGrade, &str)] = &[
    (Strong, "<important>"),
    (Strong, "</important>"),
    (Strong, "<system>"),
    (Strong, "</system>"),
    (Strong, "<system_prompt>"),
    (Strong, "<system-prompt>"),
    (Strong, "<|im_start|>"),
    (Strong, "<|system|>"),
    (Strong, "<<sys>>"),
    (Strong, "[inst]"),
    (Soft, "<instruction>"),
    (Soft, "<instructions>"),
    (Soft, "<secret>"),
    (Soft, "<hidden>"),
    (Soft, "<!--"),
];

const PHRASES: &[(PhraseGrade, &str)] = &[
    // Phrases against other instructions.
    (
        Strong,
        "ignore|disregard|forget ..3 previous|prior|earlier|preceding|above|foregoing|system|your ..2 instruction|instructions|prompt|prompts|guideline|guidelines|directive|directives",
    ),
    (Strong, "ignore|disregard|forget everything|anything ..3 above|before|previously|told"),
    (Strong, "ignore|disregard all|any|other|the ..1 instructions|guidelines|directives"),
    (Strong, "override|bypass|replace your ..2 instructions|guidelines|prompt|rules|safety"),
    (
        Soft,
        "override|bypass|supersede|supersedes|overrides ..3 previous|prior|other|all|any ..1 instructions|guidelines",
    ),
    (Soft, "precedence|priority over ..3 instruction|instructions|guidelines|tools|prompts"),
    (Soft, "you are now a|an|in|the|no"),
    (Soft, "from now on ..1 you|always|never|ignore|every|all"),
    (Soft, "your new|real|actual|true instructions|task|role|goal|purpose"),
    (Soft, "new|additional|updated|hidden|secret system ..1 instruction|instructions|prompt"),
    (
        Strong,
        "reveal|print|repeat|output|leak|dump|expose|show|include|send|copy ..2 your ..1 system ..1 prompt|message|instructions",
    ),
    (Soft, "reveal|leak|dump|expose|exfiltrate ..3 system prompt"),
    // Phrases against the user.
    (
        Strong,
        "dont|never ..1 tell|inform|mention|reveal|disclose|admit ..5 user|users|human|humans|person|anyone|anybody",
    ),
    (
        Strong,
        "not ..1 tell|inform|mention|reveal|disclose|admit ..5 user|users|human|humans|anyone|anybody",
    ),
    (Strong, "without telling|informing|mentioning|alerting ..4 user|users|human|anyone"),
    (Strong, "without ..2 user|users|humans|persons knowledge|knowing|noticing|awareness|seeing"),
    (Strong, "keep|hide|conceal this|it|these|that ..3 from ..2 user|users|human"),
    (Soft, "not|dont|never ..1 notify|alert|warn|show|ask|bother ..2 user|users|human"),
    (Soft, "not|dont|never ask|wait|prompt for ..2 confirmation|permission|approval|consent"),
    (Soft, "without ..1 user|users|their consent|permission|approval"),
    (
        Soft,
        "user|users has|have already|previously approved|authorized|authorised|consented|agreed|confirmed",
    ),
    (
        Strong,
        "!if|when|whether|true do|must|should|shall not ask ..3 for ..2 confirmation|permission|approval|consent",
    ),
    (
        Strong,
        "!if|when|whether|true dont|never ask ..3 for ..2 confirmation|permission|approval|consent",
    ),
    // "Authorized" is excluded: it may refer to OAuth.
    (
        Strong,
        "!if|when|whether|after|once|unless|until|that user|users has|have already|previously approved|consented|agreed|confirmed",
    ),
    (
        Strong,
        "!if|when|whether|after|once|unless|until|that consent|permission|approval ..2 already ..1 given|granted|obtained",
    ),
    (
        Strong,
        "!not|never|dont|cannot|cant|wont without asking ..2 user|users|human|humans|permission|confirmation",
    ),
    (Strong, "always|just|simply ..6 without asking"),
    (Soft, "keep|hide ..4 secret|hidden from ..2 user|users|human"),
    (Soft, "do|must not|never refuse|decline"),
    // Phrases that ask for secrets.
    (
        Strong,
        "before|first|must|need|always|also|please|should ..10 read|open|cat|load|fetch|include|send|upload|copy|attach|print|pass ..8 SECRET|KEYFILE",
    ),
    (
        Strong,
        "read|open|cat|load|fetch|copy|get|take|find ..8 SECRET|KEYFILE ..10 pass|send|include|put|add|provide|append|attach|upload|post|submit",
    ),
    (
        Strong,
        "pass|send|include|put|add|provide|append|attach|upload|post|submit ..6 contents|content ..4 SECRET|KEYFILE",
    ),
    (
        Strong,
        "!not|never|dont|cannot|cant|wont|refuses attach|send|upload|paste|cat|copy ..5 KEYFILE",
    ),
    // "Credentials are read from ~/.aws" does not match: it is a fact about the tool.
    (Strong, "!not|never|dont|cannot|cant|wont|refuses read|open|load KEYFILE"),
    (Strong, "!not|never|dont|cannot|cant|wont|refuses read|open|load the|your|users ..1 KEYFILE"),
    (
        Strong,
        "!not|never|dont|cannot|cant|wont|refuses read|open|load ..2 contents|content of ..2 KEYFILE",
    ),
    (Soft, "read|cat|send|upload|attach ..5 SECRET|KEYFILE"),
    // Exfiltration.
    (
        Strong,
        "send|upload|forward|transmit|post|email|leak|exfiltrate|submit ..4 conversation|history|credentials|credential|password|passwords|secrets|tokens|keys|environment|memory|chat|messages|prompt|SECRET|KEYFILE ..6 to ..3 URL",
    ),
    (Strong, "exfiltrate"),
    (Strong, "send|forward|bcc|cc ..4 copy|copies of ..2 every|each|all ..8 to"),
    (
        Strong,
        "send|forward|transmit|upload|post|email|submit ..2 your|our|entire|full|whole|complete ..2 conversation|chat|context|history|credentials|passwords|secrets|prompt|memory ..2 to|as|in",
    ),
    (Soft, "send|forward|transmit|upload|post the ..2 contents|content of ..8 to"),
    (
        Soft,
        "send|forward|transmit|upload|leak ..4 conversation|credentials|passwords|secrets|chat|api ..1 history|keys|tokens|to ..6 to|server|URL",
    ),
    (
        Soft,
        "include|pass|put|add|append ..4 entire|full|whole|complete conversation|chat|context|history|prompt",
    ),
    // Steering other tools.
    (Soft, "always ..1 call|use|invoke|run|execute ..4 first"),
    // "First to obtain an id" does not match: it is a fact about the parameter.
    (Soft, "must ..1 call|use|invoke|run|execute ..4 first ."),
    (
        Soft,
        "always|must ..1 call|use|invoke|run|execute ..3 before any|every|all|other|using|calling|each",
    ),
    (
        Soft,
        "must|always|should be called|used|invoked|run|executed ..1 before|first ..1 any|every|all|other|each",
    ),
    (
        Soft,
        "before|when|whenever using|calling|invoking|running ..1 any|other|another|every|all ..1 tool|tools",
    ),
    (
        Soft,
        "before using|calling|invoking|running this tool ..3 read|call|open|cat|run|fetch|send|list|you",
    ),
    (Soft, "never|not|dont use|call|invoke any|other|another ..1 other|tool|tools"),
];

/// Files of keys and credentials, as they appear in folded text.
const KEYFILES: &[&str] = &[
    "~/.ssh",
    "/.ssh/",
    "id_rsa",
    "id_ed25519",
    "~/.aws",
    "/.aws/credentials",
    "~/.gnupg",
    "~/.netrc",
    "/etc/shadow",
    "wallet.dat",
];
/// Other locations of secrets, which honest tools also mention.
const SECRETS: &[&str] = &[
    "~/.kube/config",
    "~/.docker/config.json",
    "~/.config/gcloud",
    "/etc/passwd",
    "mcp.json",
    "claude_desktop_config.json",
    "~/.claude.json",
    "~/.env",
    " .env ",
    "~/.bash_history",
    "~/.zsh_history",
    "/proc/self/environ",
    "private key",
    "ssh key",
    "ssh keys",
    "api keys",
    "seed phrase",
];
const URL_PREFIXES: &[&str] = &["https://", "http://", "ftp://", "webhook"];

/// Returns the strongest match in a folded text, with the matched words.
pub(super) fn find_phrase(folded: &str) -> Option<(PhraseGrade, String)> {
    let mut found: Option<(PhraseGrade, String)> = None;
    for (grade, marker) in MARKERS {
        if folded.contains(marker) {
            keep_stronger(&mut found, *grade, || (*marker).to_owned());
        }
    }
    let words = split_words(folded);
    for start in 0..words.len() {
        for phrase in PHRASES_BY_WORD.get(words[start]).into_iter().flatten() {
            if let Some(end) = match_at(&phrase.rest, &words, start + 1)
                && !is_excluded(&phrase.unless, &words[..start])
            {
                keep_stronger(&mut found, phrase.grade, || {
                    words[start..end].join(" ").to_lowercase()
                });
            }
        }
        if matches!(found, Some((Strong, _))) {
            break;
        }
    }
    found
}

fn keep_stronger(
    found: &mut Option<(PhraseGrade, String)>,
    grade: PhraseGrade,
    words: impl FnOnce() -> String,
) {
    let is_better = match found {
        None => true,
        Some((known, _)) => *known == Soft && grade == Strong,
    };
    if is_better {
        *found = Some((grade, words()));
    }
}

/// A phrase without its first word.
#[derive(Clone)]
struct PhrasePattern {
    grade: PhraseGrade,
    unless: Arc<[&'static str]>,
    rest: Arc<[PhraseElement]>,
}

enum PhraseElement {
    OneOf(Vec<&'static str>),
    Gap(usize),
}

/// The phrases by their first word.
static PHRASES_BY_WORD: LazyLock<HashMap<&str, Vec<PhrasePattern>>> = LazyLock::new(|| {
    let mut table: HashMap<&str, Vec<PhrasePattern>> = HashMap::new();
    for (grade, words) in PHRASES {
        let (unless, words) = match words.strip_prefix('!').and_then(|text| text.split_once(' ')) {
            Some((unless, words)) => (unless.split('|').collect(), words),
            None => (Arc::default(), *words),
        };
        let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
        let rest = rest.split_whitespace().map(parse_element).collect();
        let phrase = PhrasePattern { grade: *grade, unless, rest };
        for word in first.split('|') {
            table.entry(word).or_default().push(phrase.clone());
        }
    }
    table
});

fn parse_element(word: &'static str) -> PhraseElement {
    match word.strip_prefix("..") {
        Some(count) => PhraseElement::Gap(count.parse().expect("the table has numbers after `..`")),
        None => PhraseElement::OneOf(word.split('|').collect()),
    }
}

/// Returns true if one of `words` is among the last few words before a match, in the same sentence.
fn is_excluded(words: &[&str], before: &[&str]) -> bool {
    let near = before.iter().rev().take(EXCLUSION_WORDS).take_while(|word| **word != SENTENCE_END);
    near.into_iter().any(|word| words.contains(word))
}

/// Returns the end of a match that starts at `at`.
fn match_at(elements: &[PhraseElement], words: &[&str], at: usize) -> Option<usize> {
    let Some((first, rest)) = elements.split_first() else { return Some(at) };
    match first {
        PhraseElement::OneOf(options) => {
            let word = words.get(at)?;
            if options.contains(word) { match_at(rest, words, at + 1) } else { None }
        }
        PhraseElement::Gap(most) => (0..=*most)
            .take_while(|skip| {
                *skip == 0 || words.get(at + skip - 1).is_some_and(|word| *word != SENTENCE_END)
            })
            .find_map(|skip| match_at(rest, words, at + skip)),
    }
}

/// Number of words before a match that can exclude it.
const EXCLUSION_WORDS: usize = 5;

/// The end of a sentence; no phrase matches across it.
const SENTENCE_END: &str = ".";

/// Splits text into words, placeholders and sentence ends. A placeholder is upper case, which folded text never is.
fn split_words(folded: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = folded;
    while let Some(c) = rest.chars().next() {
        if let Some((placeholder, length)) = find_placeholder(rest) {
            words.push(placeholder);
            rest = &rest[length..];
        } else if c.is_alphanumeric() {
            let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            words.push(&rest[..end]);
            rest = &rest[end..];
        } else {
            let after = &rest[c.len_utf8()..];
            let ends =
                matches!(c, '.' | '!' | '?' | ';') && !after.starts_with(char::is_alphanumeric);
            if ends || rest.starts_with("\n\n") {
                words.push(SENTENCE_END);
            }
            rest = after;
        }
    }
    words.push(SENTENCE_END);
    words
}

/// Returns the placeholder at the start of the text, with the length of the text it replaces.
fn find_placeholder(rest: &str) -> Option<(&'static str, usize)> {
    let known = |list: &[&'static str]| {
        list.iter().find(|text| rest.starts_with(**text)).map(|text| text.len())
    };
    known(KEYFILES)
        .map(|length| ("KEYFILE", length))
        .or_else(|| known(SECRETS).map(|length| ("SECRET", length)))
        .or_else(|| known(URL_PREFIXES).map(|length| ("URL", length)))
}
