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
