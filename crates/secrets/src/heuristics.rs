//! Heuristics that separate real secrets from placeholders: entropy, character classes and known words.

/// Accepts any candidate, for patterns that are specific enough.
pub(super) fn accept_any(_: &str) -> bool {
    true
}

/// Accepts a quoted value after a name such as `password`: two character classes and an entropy of about eight distinct
/// characters suffice.
pub(super) fn accept_quoted(value: &str) -> bool {
    !is_placeholder(value) && count_character_classes(value) >= 2 && shannon_entropy(value) >= 2.9
}

/// Accepts an unquoted value after a name such as `password`. Prose and code also occur there, so the value must mix
/// letters and digits.
pub(super) fn accept_unquoted(value: &str) -> bool {
    let mixed = value.contains(|c: char| c.is_ascii_digit())
        && value.contains(|c: char| c.is_ascii_alphabetic());
    !is_placeholder(value) && mixed && shannon_entropy(value) >= 3.3
}

/// Accepts a password in a URL unless it is a placeholder.
pub(super) fn accept_url_password(value: &str) -> bool {
    !is_placeholder(value)
}

/// Accepts a long random key, as opposed to a long word or a repeated character.
pub(super) fn accept_random_key(value: &str) -> bool {
    !is_placeholder(value) && count_character_classes(value) >= 2 && shannon_entropy(value) >= 3.5
}

/// Accepts the token of an issuer in the output of a tool unless it is an obvious dummy.
pub(super) fn accept_token(value: &str) -> bool {
    !is_placeholder(value) && !has_sequence(value) && shannon_entropy(value) >= 3.0
}

/// Accepts a web token unless it is the example of the standard's documentation, which tests and guides repeat.
pub(super) fn accept_web_token(value: &str) -> bool {
    /// The base64 of `"sub":"1234567890"`, the example of jwt.io.
    const EXAMPLE_SUBJECTS: [&str; 2] = ["IxMjM0NTY3ODkw", "MTIzNDU2Nzg5MC"];
    !EXAMPLE_SUBJECTS.iter().any(|subject| value.contains(subject)) && accept_token(value)
}

/// Accepts a private key with its body. The markers alone occur in every program that reads keys.
pub(super) fn accept_key_block(block: &str) -> bool {
    let lines: Vec<_> = super::key_block::body_lines(block).collect();
    !is_placeholder(block)
        && lines.iter().any(|line| line.len() >= 48 && shannon_entropy(line) >= 3.5)
}

/// Accepts a password in a URL in the output of a tool.
pub(super) fn accept_url_password_in_output(value: &str) -> bool {
    let lower = value.to_lowercase();
    let words = ["pass", "secret", "pwd", "token", "user", "foo", "test", "admin", "postgres"];
    let is_weak = words.iter().any(|word| lower.contains(word));
    let has_digit = value.contains(|c: char| c.is_ascii_digit());
    let is_port = value.bytes().all(|byte| byte.is_ascii_digit());
    let is_long_enough = value.len() >= 6 && (has_digit || value.len() >= 12);
    is_long_enough && !is_weak && !is_port && !has_code(value) && !is_placeholder(value)
}

/// Accepts the value of an authorization header in the output of a tool.
pub(super) fn accept_header_in_output(value: &str) -> bool {
    accept_unquoted_in_output(value) && !value.contains("..")
}

/// Accepts a quoted value after a name such as `password` in the output of a tool.
pub(super) fn accept_quoted_in_output(value: &str) -> bool {
    accept_quoted(value) && shannon_entropy(value) >= 3.0 && !is_ordinary_value(value)
}

/// Accepts an unquoted value after a name such as `password` in the output of a tool, where code is far more frequent.
pub(super) fn accept_unquoted_in_output(value: &str) -> bool {
    accept_unquoted(value)
        && count_alternations(value) >= 3
        && !is_ordinary_value(value)
        && !is_constant_name(value)
        && (!value.contains(['=', '#', '&', '*']) || value.ends_with('='))
}

/// Returns true for a name in capitals, such as `RETURN_TYPE_V2`.
fn is_constant_name(value: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    value.contains('_') && value.bytes().all(is_part)
}

/// Returns true if the name that ends a text is not that of a secret: the position in a list, a check against forgery.
/// `assignment` begins with the part of the name that the rule matched.
pub(super) fn is_harmless_name(before: &str, assignment: &str) -> bool {
    if !assignment.get(..5).is_some_and(|name| name.eq_ignore_ascii_case("token")) {
        return false;
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let prefix = &before[before.trim_end_matches(is_part).len()..];
    is_harmless_prefix(&prefix.to_ascii_lowercase())
}

fn is_harmless_prefix(prefix: &str) -> bool {
    let words = [
        "page",
        "next",
        "continuation",
        "cursor",
        "sync",
        "resume",
        "csrf",
        "xsrf",
        "progress",
        "paging",
    ];
    let prefix = prefix.trim_end_matches(['_', '-']);
    words.iter().any(|word| prefix.ends_with(word))
}

/// Returns true if the name of a JSON member says that its value is a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    // The last letters of the names below.
    if !matches!(name.as_bytes().last(), Some(b'd' | b'e' | b't' | b'n' | b'y' | b'A'..=b'Z')) {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    let ends =
        ["passwd", "password", "passphrase", "pwd", "secret", "apikey", "api_key", "api-key"];
    let keys = ["access", "auth", "private", "client"];
    if ends.iter().any(|end| lower.ends_with(end)) {
        return true;
    }
    if let Some(prefix) = lower.strip_suffix("token") {
        return !is_harmless_prefix(prefix);
    }
    let Some(stem) = lower.strip_suffix("key") else { return false };
    let stem = stem.trim_end_matches(['_', '-']);
    keys.iter().any(|key| stem.ends_with(key))
}

/// Returns true for values that programs assign to such names without being secrets.
fn is_ordinary_value(value: &str) -> bool {
    has_code(value)
        || has_sequence(value)
        || is_words(value)
        || is_uuid(value)
        || is_address(value)
        || [
            "sha1", "sha256", "sha384", "sha512", "http", "data:", "urn:", "arn:", "/", "./",
            "../", "\\",
        ]
        .iter()
        .any(|start| value.starts_with(start))
        || !value.is_ascii()
}

/// Returns true if the text has characters that occur in code and templates.
fn has_code(value: &str) -> bool {
    value.contains(['(', ')', '{', '}', '[', ']', '<', '>', ';', ',', '|'])
        || value.starts_with(['$', '%', '&', '@', '*', '-', '.', ':'])
        || value.contains("::")
        || value.contains("->")
        || value.contains("\\")
}

/// Returns true if the text consists of words, each with at most two digits at its end: an identifier, a path, a slug.
fn is_words(value: &str) -> bool {
    let is_separator = |c: char| matches!(c, '_' | '-' | '.' | '/' | ':');
    if !value.chars().all(|c| c.is_alphanumeric() || is_separator(c)) {
        return false;
    }
    let parts = value.split(is_separator);
    parts.filter(|part| !part.is_empty()).all(|part| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = part.len() - word.len();
        let is_number = word.is_empty() && digits <= 8;
        is_number || (digits <= 3 && word.chars().all(char::is_alphabetic) && has_word_shape(word))
    })
}

/// Returns true if letters are in the order of words: few changes of case, and vowels.
fn has_word_shape(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    let humps = letters.windows(2).filter(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    let vowels = letters.iter().filter(|c| "aeiouyAEIOUY".contains(**c)).count();
    let is_short = letters.len() <= 4;
    is_short || (humps.count() * 3 <= letters.len() && vowels * 6 >= letters.len())
}

fn is_uuid(value: &str) -> bool {
    let groups: Vec<_> = value.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| is_hex(group))
}

/// Returns true for the address of an account or contract on a chain.
fn is_address(value: &str) -> bool {
    value.strip_prefix("0x").is_some_and(|digits| digits.len() == 40 && is_hex(digits))
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns true if the text has a run that a person typed: consecutive digits or letters, or one character repeated.
fn has_sequence(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    [
        "12345678", "abcdefgh", "01234567", "87654321", "qwertyui", "deadbeef", "cafebabe",
        "abcd1234", "1234abcd", "abc123",
    ]
    .iter()
    .any(|run| lower.contains(run))
        || value.as_bytes().windows(6).any(|run| run.iter().all(|byte| *byte == run[0]))
}

/// Returns the number of changes between letters and digits.
fn count_alternations(value: &str) -> usize {
    let kinds: Vec<bool> =
        value.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.is_ascii_digit()).collect();
    kinds.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

fn is_placeholder(value: &str) -> bool {
    let lower = value.to_lowercase();
    let marked = lower.starts_with(['<', '$', '%', '{', '['])
        || lower.contains("${")
        || lower.contains("{{")
        || lower.contains("...");
    let words = [
        "example",
        "placeholder",
        "changeme",
        "change-me",
        "change_me",
        "your-",
        "your_",
        "redacted",
        "dummy",
        "xxxx",
        "****",
    ];
    let whole =
        ["password", "passwd", "pass", "pwd", "secret", "token", "user", "*", "x", "xxx", "***"];
    marked || words.iter().any(|word| lower.contains(word)) || whole.contains(&lower.as_str())
}

/// Returns the number of character classes that occur: lower case, upper case, digits, other.
fn count_character_classes(value: &str) -> usize {
    let tests: [fn(char) -> bool; 4] = [
        |c| c.is_lowercase(),
        |c| c.is_uppercase(),
        |c| c.is_ascii_digit(),
        |c| !c.is_alphanumeric(),
    ];
    tests.iter().filter(|test| value.contains(**test)).count()
}

/// Returns the Shannon entropy in bits per character.
fn shannon_entropy(value: &str) -> f64 {
    let mut characters: Vec<char> = value.chars().collect();
    characters.sort_unstable();
    let total = characters.len() as f64;
    characters
        .chunk_by(|a, b| a == b)
        .map(|same| same.len() as f64 / total)
        .map(|share| -share * share.log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_in_bits_per_character() {
        assert_eq!(shannon_entropy("aaaa"), 0.0);
        assert_eq!(shannon_entropy("abab"), 1.0);
        assert_eq!(shannon_entropy("abcdefgh"), 3.0);
    }
}
