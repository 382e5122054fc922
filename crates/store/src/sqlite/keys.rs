//! SQL statements on nonces, which can be used once, and on secrets, which are created once.

use jiff::Timestamp;
use rusqlite::Transaction;

use super::TransactionError;
use crate::{hex, random};

/// Returns true if the nonce was not used before and has not expired. Deletes expired nonces.
pub(super) fn use_nonce(
    tx: &Transaction<'_>,
    now: Timestamp,
    nonce: &str,
    expires: Timestamp,
) -> Result<bool, TransactionError> {
    let now = now.as_millisecond();
    let expires = expires.as_millisecond();
    tx.execute("DELETE FROM nonce WHERE expires_at <= $1", [now])?;
    // An expired nonce is deleted and would then be accepted as new, so it is always rejected.
    if expires <= now {
        return Ok(false);
    }
    let sql =
        "INSERT INTO nonce (nonce, expires_at) VALUES ($1, $2) ON CONFLICT (nonce) DO NOTHING";
    Ok(tx.execute(sql, (nonce, expires))? == 1)
}

/// Returns the secret with this name, inserting a random one if it is missing.
pub(super) fn get_or_create_secret(
    tx: &Transaction<'_>,
    name: &str,
) -> Result<[u8; 32], TransactionError> {
    tx.execute(
        "INSERT INTO secret (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
        (name, hex::encode(&random::generate_key()?)),
    )?;
    let sql = "SELECT value FROM secret WHERE name = $1";
    Ok(tx.query_row(sql, [name], |row| {
        let text: String = row.get(0)?;
        hex::decode(&text).ok_or_else(|| {
            let reason = "invalid secret: not 64 hexadecimal digits".into();
            rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, reason)
        })
    })?)
}
