//! Nonces that are good once, and keys that are made once.

use jiff::Timestamp;
use rusqlite::Transaction;

use super::Failure;
use crate::{hex, random};

pub(super) fn use_nonce(
    tx: &Transaction<'_>,
    now: Timestamp,
    nonce: &str,
    expires: Timestamp,
) -> Result<bool, Failure> {
    let now = now.as_millisecond();
    let expires = expires.as_millisecond();
    tx.execute("DELETE FROM nonce WHERE expires_at <= $1", [now])?;
    // An expired nonce would be pruned and then pass for new, so it is not good even once.
    if expires <= now {
        return Ok(false);
    }
    let sql =
        "INSERT INTO nonce (nonce, expires_at) VALUES ($1, $2) ON CONFLICT (nonce) DO NOTHING";
    Ok(tx.execute(sql, (nonce, expires))? == 1)
}

pub(super) fn secret(tx: &Transaction<'_>, name: &str) -> Result<[u8; 32], Failure> {
    tx.execute(
        "INSERT INTO secret (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
        (name, hex::encode(&random::key()?)),
    )?;
    let sql = "SELECT value FROM secret WHERE name = $1";
    Ok(tx.query_row(sql, [name], |row| {
        let text: String = row.get(0)?;
        hex::decode(&text).ok_or_else(|| {
            let reason = "a secret is not 64 hexadecimal digits".into();
            rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, reason)
        })
    })?)
}
