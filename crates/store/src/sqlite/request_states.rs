//! SQL statements on the nonces of request states that were issued and not used yet.

use std::time::Duration;

use jiff::Timestamp;
use rusqlite::Transaction;

use super::TransactionError;

/// Maximum unused request states of a principal; above it, the oldest are no longer valid. A person answers one after
/// the other, so only a caller that suspends calls in a loop reaches it.
pub(crate) const MAX_REQUEST_STATES: i64 = 1000;

/// Stores a new nonce. Deletes expired ones, and the oldest of this principal above the limit.
pub(super) fn issue_nonce(
    tx: &Transaction<'_>,
    now: Timestamp,
    nonce: &str,
    principal: &str,
    ttl: Duration,
) -> Result<(), TransactionError> {
    let expires = now.checked_add(ttl).unwrap_or(Timestamp::MAX);
    tx.execute("DELETE FROM request_state WHERE expires_at <= $1", [now.as_millisecond()])?;
    tx.execute(
        "INSERT INTO request_state (nonce, principal, issued_at, expires_at) VALUES ($1, $2, $3, $4)",
        (nonce, principal, now.as_millisecond(), expires.as_millisecond()),
    )?;
    tx.execute(
        "DELETE FROM request_state WHERE principal = $1 AND nonce NOT IN
           (SELECT nonce FROM request_state WHERE principal = $1 ORDER BY issued_at DESC, nonce LIMIT $2)",
        (principal, MAX_REQUEST_STATES),
    )?;
    Ok(())
}

/// Returns true if the nonce was issued, has not expired and was not used. It is deleted, so this happens once.
pub(super) fn use_nonce(
    tx: &Transaction<'_>,
    now: Timestamp,
    nonce: &str,
) -> Result<bool, TransactionError> {
    let sql = "DELETE FROM request_state WHERE nonce = $1 AND expires_at > $2";
    Ok(tx.execute(sql, (nonce, now.as_millisecond()))? == 1)
}
