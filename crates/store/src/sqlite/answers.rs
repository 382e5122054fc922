//! The statements on withheld answers. Each function is the body of one transaction.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Row, Transaction};

use super::{Failure, time};
use crate::answer::{MAX_ANSWER_BYTES, MAX_ANSWERS, MAX_ANSWERS_BYTES};
use crate::{KeptAnswer, NewAnswer, RawAnswer, StoreError, random};

/// After this nobody asks any more. The audit log remembers the call itself for ever.
const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);

const COLUMNS: &str =
    "id, kept_at, principal, tool, contract_digest, arguments_digest, violation, bytes, kept_bytes";

pub(super) fn keep(
    tx: &Transaction<'_>,
    now: Timestamp,
    new: &NewAnswer,
) -> Result<String, Failure> {
    let id = random::id()?;
    let raw = &new.raw[..new.raw.floor_char_boundary(MAX_ANSWER_BYTES)];
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
            number(new.raw.len()),
            number(raw.len()),
            raw,
        ),
    )?;
    forget(tx, now, &id)?;
    Ok(id)
}

/// Lets the oldest go. The newest stays, whatever its size.
fn forget(tx: &Transaction<'_>, now: Timestamp, newest: &str) -> Result<(), Failure> {
    let stale = now.checked_sub(KEPT).unwrap_or(Timestamp::MIN);
    tx.execute(
        "DELETE FROM broken_answer WHERE id <> $1 AND (kept_at <= $2 OR id IN (
            SELECT id FROM (
                SELECT id,
                    ROW_NUMBER() OVER (ORDER BY kept_at DESC, id) AS place,
                    SUM(kept_bytes) OVER (ORDER BY kept_at DESC, id) AS total
                FROM broken_answer
            ) AS by_age WHERE place > $3 OR total > $4
        ))",
        (newest, stale.as_millisecond(), number(MAX_ANSWERS), number(MAX_ANSWERS_BYTES)),
    )?;
    Ok(())
}

pub(super) fn list(tx: &Transaction<'_>, limit: usize) -> Result<Vec<KeptAnswer>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM broken_answer ORDER BY kept_at DESC, id LIMIT $1");
    let rows =
        tx.prepare(&sql)?.query_map([number(limit)], from_row)?.collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

pub(super) fn find(tx: &Transaction<'_>, id: &str) -> Result<RawAnswer, Failure> {
    let prefix = random::normalize(id);
    let sql = format!(
        "SELECT {COLUMNS}, raw FROM broken_answer WHERE substr(id, 1, length($1)) = $1 LIMIT 2"
    );
    let with_text = |row: &Row<'_>| Ok(RawAnswer { answer: from_row(row)?, raw: row.get("raw")? });
    let mut found =
        tx.prepare(&sql)?.query_map([&prefix], with_text)?.collect::<rusqlite::Result<Vec<_>>>()?;
    match found.pop() {
        Some(answer) if found.is_empty() && !prefix.is_empty() => Ok(answer),
        Some(_) if !prefix.is_empty() => Err(StoreError::AmbiguousAnswer { prefix }.into()),
        _ => Err(StoreError::UnknownAnswer { id: id.to_owned() }.into()),
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<KeptAnswer> {
    let (bytes, kept) = (row.get::<_, i64>("bytes")?, row.get::<_, i64>("kept_bytes")?);
    Ok(KeptAnswer {
        id: row.get("id")?,
        kept_at: time(row.get("kept_at")?)?,
        principal: row.get("principal")?,
        tool: row.get("tool")?,
        contract_digest: row.get("contract_digest")?,
        arguments_digest: row.get("arguments_digest")?,
        violation: row.get("violation")?,
        bytes: u64::try_from(bytes).unwrap_or_default(),
        is_cut: kept < bytes,
    })
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
