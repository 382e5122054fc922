//! Parses dates in common notations into RFC 3339 in UTC.

use jiff::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;

/// Parses a timestamp, a time without a zone (taken as UTC) or a day; returns `None` for anything else.
pub(super) fn parse_date(text: &str) -> Option<String> {
    let text = text.trim();
    let time = text
        .parse::<Timestamp>()
        .ok()
        .or_else(|| to_utc_timestamp(text.parse::<civil::DateTime>().ok()?))
        .or_else(|| to_utc_timestamp(parse_day(text)?.at(0, 0, 0, 0)))?;
    // RFC 3339 years have four digits.
    let year = time.to_zoned(TimeZone::UTC).year();
    (0..=9999).contains(&year).then(|| time.to_string())
}

/// Parses `2026-01-02`, also with slashes or dots, ignoring text after it.
fn parse_day(text: &str) -> Option<civil::Date> {
    let start = text.get(..10)?;
    let plain = start.replace(['/', '.'], "-");
    plain.parse().ok()
}

fn to_utc_timestamp(time: civil::DateTime) -> Option<Timestamp> {
    TimeZone::UTC.to_timestamp(time).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_common_date_notations() {
        let cases = [
            ("2026-01-15T10:30:00Z", Some("2026-01-15T10:30:00Z")),
            ("2026-01-15T10:30:00+02:00", Some("2026-01-15T08:30:00Z")),
            ("2026-01-15T10:30:00.123", Some("2026-01-15T10:30:00.123Z")),
            ("2026-01-15 10:30", Some("2026-01-15T10:30:00Z")),
            (" 2026-01-15 ", Some("2026-01-15T00:00:00Z")),
            ("2026/01/15 when last updated", Some("2026-01-15T00:00:00Z")),
            ("2026-13-15", None),
            ("yesterday", None),
            ("{YYYY-MM-DD}", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_date(text).as_deref(), expected, "{text}");
        }
    }
}
