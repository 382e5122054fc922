//! Whether a value looks like a real secret: random enough, and no placeholder.

/// Any candidate: the pattern has said enough.
pub(super) fn any(_: &str) -> bool {
    true
}

/// A value in quotes after a telling name: eight different characters of two kinds are enough.
pub(super) fn quoted(value: &str) -> bool {
    !is_placeholder(value) && kinds(value) >= 2 && entropy(value) >= 2.9
}

/// A bare value after a telling name: prose and code stand there too, so letters and digits must be well mixed.
pub(super) fn bare(value: &str) -> bool {
    let mixed = value.contains(|c: char| c.is_ascii_digit())
        && value.contains(|c: char| c.is_ascii_alphabetic());
    !is_placeholder(value) && mixed && entropy(value) >= 3.3
}

/// A password in a URL: anything that nobody would write as an example.
pub(super) fn in_url(value: &str) -> bool {
    !is_placeholder(value)
}

/// A long key of letters and digits, as opposed to a long word or a row of one character.
pub(super) fn random(value: &str) -> bool {
    !is_placeholder(value) && kinds(value) >= 2 && entropy(value) >= 3.5
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

/// How many of lower case, upper case, digits and other characters occur.
fn kinds(value: &str) -> usize {
    let tests: [fn(char) -> bool; 4] = [
        |c| c.is_lowercase(),
        |c| c.is_uppercase(),
        |c| c.is_ascii_digit(),
        |c| !c.is_alphanumeric(),
    ];
    tests.iter().filter(|test| value.contains(**test)).count()
}

/// Shannon entropy in bits a character.
fn entropy(value: &str) -> f64 {
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
    fn entropy_in_bits() {
        assert_eq!(entropy("aaaa"), 0.0);
        assert_eq!(entropy("abab"), 1.0);
        assert_eq!(entropy("abcdefgh"), 3.0);
    }
}
