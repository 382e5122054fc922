//! SQL statements on secrets, which are created once.

use rusqlite::Transaction;

use super::TransactionError;
use crate::{hex, random};

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
