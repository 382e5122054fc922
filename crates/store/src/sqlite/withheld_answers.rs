//! SQL statements on withheld answers. Each function is the body of one transaction.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Row, Transaction};

use super::{TransactionError, timestamp_from_millis};
use crate::withheld_answer::{
    MAX_WITHHELD_ANSWER_BYTES, MAX_WITHHELD_ANSWERS, MAX_WITHHELD_ANSWERS_TOTAL_BYTES,
};
use crate::{NewWithheldAnswer, RawWithheldAnswer, StoreError, WithheldAnswer, random};

/// Time after which a withheld answer is deleted. The audit log keeps the call itself indefinitely.
const RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);

const COLUMNS: &str =
    "id, kept_at, principal, tool, contract_digest, arguments_digest, violation, bytes, kept_bytes";

/// Inserts the answer and deletes old ones. Returns the new id.
pub(super) fn insert_withheld_answer(
    tx: &Transaction<'_>,
    now: Timestamp,
    new: &NewWithheldAnswer,
) -> Result<String, TransactionError> {
    let id = random::generate_id()?;
    let raw = &new.raw[..new.raw.floor_char_boundary(MAX_WITHHELD_ANSWER_BYTES)];
    tx.execute(
        "INSERT INTO broken_answer (id, kept_at, principal, tool, contract_digest, arguments_digest, violation,
         bytes, kept_bytes, raw) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        (
            &id,
            now.as_millisecond(),
            &new.principal,
            &new.tool,
            &new.contract_digest,
            &new.arguments_digest,
            &new.violation,
            to_sql_integer(new.raw.len()),
            to_sql_integer(raw.len()),
            raw,
        ),
    )?;
    prune_withheld_answers(tx, now, &id)?;
    Ok(id)
}

/// Deletes the answers that exceed the limits, oldest first. The newest is kept regardless of its size.
fn prune_withheld_answers(
    tx: &Transaction<'_>,
    now: Timestamp,
    newest: &str,
) -> Result<(), TransactionError> {
    let stale = now.checked_sub(RETENTION).unwrap_or(Timestamp::MIN);
    tx.execute(
        "DELETE FROM broken_answer WHERE id <> $1 AND (kept_at <= $2 OR id IN (
            SELECT id FROM (
                SELECT id,
                    ROW_NUMBER() OVER (ORDER BY kept_at DESC, id) AS place,
                    SUM(kept_bytes) OVER (ORDER BY kept_at DESC, id) AS total
                FROM broken_answer
            ) AS by_age WHERE place > $3 OR total > $4
        ))",
        (
            newest,
            stale.as_millisecond(),
            to_sql_integer(MAX_WITHHELD_ANSWERS),
            to_sql_integer(MAX_WITHHELD_ANSWERS_TOTAL_BYTES),
        ),
    )?;
    Ok(())
}

pub(super) fn list_withheld_answers(
    tx: &Transaction<'_>,
    limit: usize,
) -> Result<Vec<WithheldAnswer>, TransactionError> {
    let sql = format!("SELECT {COLUMNS} FROM broken_answer ORDER BY kept_at DESC, id LIMIT $1");
    let rows = tx
        .prepare(&sql)?
        .query_map([to_sql_integer(limit)], from_row)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

pub(super) fn find_withheld_answer(
    tx: &Transaction<'_>,
    id: &str,
) -> Result<RawWithheldAnswer, TransactionError> {
    let prefix = random::normalize_id(id);
    let sql = format!(
        "SELECT {COLUMNS}, raw FROM broken_answer WHERE substr(id, 1, length($1)) = $1 LIMIT 2"
    );
    let with_text =
        |row: &Row<'_>| Ok(RawWithheldAnswer { answer: from_row(row)?, raw: row.get("raw")? });
    let mut found =
        tx.prepare(&sql)?.query_map([&prefix], with_text)?.collect::<rusqlite::Result<Vec<_>>>()?;
    match found.pop() {
        Some(answer) if found.is_empty() && !prefix.is_empty() => Ok(answer),
        Some(_) if !prefix.is_empty() => Err(StoreError::AmbiguousWithheldAnswer { prefix }.into()),
        _ => Err(StoreError::UnknownWithheldAnswer { id: id.to_owned() }.into()),
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<WithheldAnswer> {
    let (bytes, kept) = (row.get::<_, i64>("bytes")?, row.get::<_, i64>("kept_bytes")?);
    Ok(WithheldAnswer {
        id: row.get("id")?,
        kept_at: timestamp_from_millis(row.get("kept_at")?)?,
        principal: row.get("principal")?,
        tool: row.get("tool")?,
        contract_digest: row.get("contract_digest")?,
        arguments_digest: row.get("arguments_digest")?,
        violation: row.get("violation")?,
        bytes: u64::try_from(bytes).unwrap_or_default(),
        is_cut: kept < bytes,
    })
}

/// Converts a count to SQL, saturating at `i64::MAX`.
fn to_sql_integer(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
