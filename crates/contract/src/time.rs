//! Times as callers see them: RFC 3339 in UTC, to the millisecond.

use std::time::SystemTime;

use jiff::{Timestamp, Unit};

/// 0001-01-01: RFC 3339 has four digits for a year and no sign, and a file's time can be set to anything.
const FIRST_SECOND: i64 = -62_135_596_800;

pub fn now() -> String {
    format(Timestamp::now())
}

pub fn of_file(time: SystemTime) -> String {
    let first = Timestamp::from_second(FIRST_SECOND).unwrap_or(Timestamp::UNIX_EPOCH);
    format(match Timestamp::try_from(time) {
        Ok(time) => time.max(first),
        Err(_) if time < SystemTime::UNIX_EPOCH => first,
        Err(_) => Timestamp::MAX,
    })
}

fn format(time: Timestamp) -> String {
    // Rounding fails only at the very end of time; the unrounded value is as true.
    time.round(jiff::TimestampRound::new().smallest(Unit::Millisecond).mode(jiff::RoundMode::Trunc))
        .unwrap_or(time)
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn any_time_of_a_file_is_a_valid_date_time() {
        let at = |seconds: i64| {
            let distance = Duration::from_secs(seconds.unsigned_abs());
            let epoch = SystemTime::UNIX_EPOCH;
            of_file(if seconds < 0 { epoch - distance } else { epoch + distance })
        };
        assert_eq!(at(1_768_473_000), "2026-01-15T10:30:00Z");
        assert_eq!(at(-1), "1969-12-31T23:59:59Z");
        assert_eq!(at(i64::MAX / 2), "9999-12-30T22:00:00.999Z");
        assert_eq!(at(-63_000_000_000), "0001-01-01T00:00:00Z");
        assert_eq!(at(i64::MIN / 2), "0001-01-01T00:00:00Z");
    }
}
