//! Version requirements of `pragma solidity`, in the syntax of npm: `^0.8.0`, `>=0.6.2 <0.9.0`, `0.7.6 || 0.8.x`.

use std::fmt;

/// A release of the compiler, such as 0.8.37.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SolcVersion(pub [u32; 3]);

impl SolcVersion {
    /// Parses three numbers, such as `0.8.37`. Whatever follows a hyphen or a plus sign is ignored.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.split(['-', '+']).next()?;
        let parts: Vec<_> = plain.split('.').map(parse_number).collect::<Option<_>>()?;
        parts.try_into().ok().map(Self)
    }
}

impl fmt::Display for SolcVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(out, "{major}.{minor}.{patch}")
    }
}

fn parse_number(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// A requirement on the compiler version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VersionRange {
    /// Alternatives; the requirement is met by a version in any of them.
    intervals: Vec<VersionInterval>,
}

/// Versions from `low`, up to but not including `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct VersionInterval {
    low: [u32; 3],
    high: Option<[u32; 3]>,
}

impl VersionRange {
    /// Returns `None` if the text is not a requirement. The compiler then decides.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let intervals = text.split("||").map(VersionInterval::parse).collect::<Option<_>>()?;
        Some(Self { intervals })
    }

    /// Returns the requirement of exactly this version.
    pub(crate) fn exactly(version: SolcVersion) -> Self {
        let interval = VersionInterval { low: version.0, high: Some(next(version.0, 2)) };
        Self { intervals: vec![interval] }
    }

    pub(crate) fn contains(&self, version: SolcVersion) -> bool {
        let is_in = |one: &VersionInterval| {
            one.low <= version.0 && one.high.is_none_or(|high| version.0 < high)
        };
        self.intervals.iter().any(is_in)
    }
}

impl VersionInterval {
    /// Parses comparisons that must all hold.
    fn parse(text: &str) -> Option<Self> {
        let mut whole = Self { low: [0; 3], high: None };
        let mut words = split_comparisons(text).into_iter().peekable();
        words.peek()?;
        while let Some((operator, version)) = words.next() {
            let hyphen = words.next_if(|(operator, _)| *operator == "-");
            let next = match hyphen {
                Some((_, last)) if operator.is_empty() => {
                    let low = Self::compare(">=", &version)?.low;
                    Self { low, high: Self::compare("<=", &last)?.high }
                }
                Some(_) => return None,
                None => Self::compare(operator, &version)?,
            };
            whole = whole.intersect(next);
        }
        Some(whole)
    }

    fn intersect(self, other: Self) -> Self {
        let high = match (self.high, other.high) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self { low: self.low.max(other.low), high }
    }

    /// Returns the versions that a comparison admits. In a version such as `0.8` or `0.8.x`, any patch counts.
    fn compare(operator: &str, version: &str) -> Option<Self> {
        let parts: Vec<_> = version.split('.').collect();
        let given = parts.iter().take_while(|part| !matches!(**part, "x" | "X" | "*")).count();
        if parts.len() > 3 {
            return None;
        }
        let mut numbers = [0; 3];
        for (number, part) in numbers.iter_mut().zip(&parts[..given]) {
            *number = parse_number(part)?;
        }
        // The position that is increased to leave the versions that were meant.
        let Some(last) = given.checked_sub(1) else {
            return (!matches!(operator, "<" | ">")).then_some(Self { low: [0; 3], high: None });
        };
        let range = |low, high| Some(Self { low, high });
        match operator {
            "" | "=" => range(numbers, Some(next(numbers, last))),
            ">=" => range(numbers, None),
            ">" => range(next(numbers, last), None),
            "<" => range([0; 3], Some(numbers)),
            "<=" => range([0; 3], Some(next(numbers, last))),
            "~" => range(numbers, Some(next(numbers, last.min(1)))),
            "^" => {
                let leading = numbers[..given].iter().position(|&number| number != 0);
                range(numbers, Some(next(numbers, leading.unwrap_or(last))))
            }
            _ => None,
        }
    }
}

/// Returns the version after all that begin with the same numbers up to `position`.
fn next(mut version: [u32; 3], position: usize) -> [u32; 3] {
    version[position] = version[position].saturating_add(1);
    version[position + 1..].fill(0);
    version
}

/// Splits a requirement into operators and versions. Both may be separated by spaces.
fn split_comparisons(text: &str) -> Vec<(&str, String)> {
    let mut comparisons = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let is_operator = |c: char| "<>=^~-".contains(c);
        let (operator, after) = rest.split_at(rest.find(|c| !is_operator(c)).unwrap_or(rest.len()));
        let after = after.trim_start();
        let is_version = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '*';
        let end = after.find(|c| !is_version(c)).unwrap_or(after.len());
        // A character that belongs to neither ends the version, and is rejected with it.
        let end = if end == 0 { after.chars().next().map_or(0, char::len_utf8) } else { end };
        let (version, after) = after.split_at(end);
        comparisons.push((operator, version.trim_start_matches('v').to_owned()));
        rest = after.trim_start();
    }
    comparisons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, inside: &[&str], outside: &[&str]) {
        let range = VersionRange::parse(text).unwrap_or_else(|| panic!("{text}"));
        let version = |text: &&str| SolcVersion::parse(text).unwrap();
        for one in inside {
            assert!(range.contains(version(one)), "{text} admits {one}");
        }
        for one in outside {
            assert!(!range.contains(version(one)), "{text} excludes {one}");
        }
    }

    #[test]
    fn ranges_are_those_of_npm() {
        check("0.8.15", &["0.8.15"], &["0.8.14", "0.8.16"]);
        check("=0.7.6", &["0.7.6"], &["0.7.5", "0.8.0"]);
        check("^0.8.4", &["0.8.4", "0.8.37"], &["0.8.3", "0.9.0", "1.0.0"]);
        check("^0.0.3", &["0.0.3"], &["0.0.4"]);
        check("^0.8", &["0.8.0", "0.8.9"], &["0.7.6", "0.9.0"]);
        check("^1.2.3", &["1.9.0"], &["2.0.0", "1.2.2"]);
        check("~0.8.4", &["0.8.9"], &["0.9.0", "0.8.3"]);
        check(">=0.4.22 <0.9.0", &["0.4.22", "0.8.37"], &["0.4.21", "0.9.0"]);
        check(">= 0.6.2 < 0.8", &["0.6.2", "0.7.6"], &["0.8.0"]);
        check(">0.8", &["0.9.0"], &["0.8.37"]);
        check("<=0.8", &["0.8.37", "0.1.0"], &["0.9.0"]);
        check("0.6.12 || ^0.8.10", &["0.6.12", "0.8.20"], &["0.7.0", "0.8.9"]);
        check("0.5.0 - 0.6.2", &["0.5.0", "0.6.2"], &["0.6.3", "0.4.9"]);
        check("0.8.x", &["0.8.0"], &["0.9.0"]);
        check("*", &["0.1.0", "9.9.9"], &[]);
        check(">=0.8.0 <0.7.0", &[], &["0.8.0", "0.7.5"]);
        check("^4294967295.4294967295.4294967295", &[], &["0.8.0"]);
    }

    #[test]
    fn rejects_what_is_no_requirement() {
        for text in
            ["", "abc", "^", "0.8.0.1", "0.8.", ">=0.8 ||", "0.8.0 - ", "é", "^-0.8", "0.8;"]
        {
            assert_eq!(VersionRange::parse(text), None, "{text}");
        }
    }
}
