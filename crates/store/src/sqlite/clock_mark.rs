//! The latest time that any process has seen, so that a clock that is set back revives nothing.
//!
//! What expires by the wall clock becomes valid again when the clock is set back. So every transaction that depends on
//! time goes through [`advance_clock_mark`]: small steps back are ignored, and a larger one ends everything that is
//! still open. A clock that was wrong by years and is corrected thus costs the open approvals, and locks no one out.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Transaction};

use super::{TransactionError, timestamp_from_millis};

/// Steps back up to this long are ignored: time stands still instead. It covers corrections by NTP.
const TOLERANCE_MS: i64 = 10_000;

/// Returns the time of a transaction: the time of the clock, and never before a time that was seen earlier, except after
/// the clock was set back by more than the tolerance. Then everything open is ended first.
pub(super) fn advance_clock_mark(
    tx: &Transaction<'_>,
    now: Timestamp,
) -> Result<Timestamp, TransactionError> {
    let now_ms = now.as_millisecond();
    let seen: Option<i64> =
        tx.query_row("SELECT seen_at FROM clock_mark", [], |row| row.get(0)).optional()?;
    match seen {
        Some(seen) if seen == now_ms => return Ok(now),
        Some(seen) if now_ms < seen => {
            if seen.saturating_sub(now_ms) <= TOLERANCE_MS {
                return Ok(timestamp_from_millis(seen)?);
            }
            tracing::warn!("the clock was set back; open approvals and request states are void");
            end_open_entries(tx, now_ms)?;
        }
        _ => {}
    }
    tx.execute(
        "INSERT INTO clock_mark (id, seen_at) VALUES (1, $1)
         ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at",
        [now_ms],
    )?;
    Ok(now)
}

/// Lets approvals expire and deletes request states. Used approvals stay as they are: they are not valid anyway.
fn end_open_entries(tx: &Transaction<'_>, now_ms: i64) -> Result<(), TransactionError> {
    tx.execute(
        "UPDATE approval SET expires_at = $1 WHERE state <> 'used' AND expires_at > $1",
        [now_ms],
    )?;
    tx.execute("DELETE FROM request_state", [])?;
    Ok(())
}
