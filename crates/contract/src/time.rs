//! Timestamps for callers: RFC 3339 in UTC, truncated to milliseconds.

use std::time::SystemTime;

use jiff::{Timestamp, Unit};

/// 0001-01-01. RFC 3339 years have four digits and no sign, but a file's time can have any value.
const FIRST_SECOND: i64 = -62_135_596_800;

/// Returns the current time.
pub fn now_rfc3339() -> String {
    format_timestamp(Timestamp::now())
}

/// Returns the time clamped to the years 1 to 9999.
pub fn format_system_time(time: SystemTime) -> String {
    let first = Timestamp::from_second(FIRST_SECOND).unwrap_or(Timestamp::UNIX_EPOCH);
    format_timestamp(match Timestamp::try_from(time) {
        Ok(time) => time.max(first),
        Err(_) if time < SystemTime::UNIX_EPOCH => first,
        Err(_) => Timestamp::MAX,
    })
}

fn format_timestamp(time: Timestamp) -> String {
    // Rounding fails only near `Timestamp::MAX`; the unrounded value is equally valid.
    time.round(jiff::TimestampRound::new().smallest(Unit::Millisecond).mode(jiff::RoundMode::Trunc))
        .unwrap_or(time)
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn clamps_any_file_time_to_a_valid_date_time() {
        let at = |seconds: i64| {
            let distance = Duration::from_secs(seconds.unsigned_abs());
            let epoch = SystemTime::UNIX_EPOCH;
            format_system_time(if seconds < 0 { epoch - distance } else { epoch + distance })
        };
        assert_eq!(at(1_768_473_000), "2026-01-15T10:30:00Z");
        assert_eq!(at(-1), "1969-12-31T23:59:59Z");
        assert_eq!(at(i64::MAX / 2), "9999-12-30T22:00:00.999Z");
        assert_eq!(at(-63_000_000_000), "0001-01-01T00:00:00Z");
        assert_eq!(at(i64::MIN / 2), "0001-01-01T00:00:00Z");
    }
}
