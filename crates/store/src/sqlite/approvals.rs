//! The statements on approvals. Each function is the body of one transaction.

use jiff::{SignedDuration, Timestamp};
use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, Transaction};

use super::{Failure, time};
use crate::random;
use crate::{Approval, Consent, Decision, NewApproval, State, StoreError};

/// Approvals as they stand now. `expired` is derived here and nowhere else.
const APPROVALS: &str = "(SELECT id, principal, client, tool, contract_digest, arguments_digest, summary,
    requested_at, expires_at, decided_at, decided_by, used_at,
    CASE WHEN state IN ('pending', 'approved') AND expires_at <= $1 THEN 'expired' ELSE state END AS state
    FROM approval) AS approval";

/// How long a finished approval can still be looked up. The audit log remembers the call itself for ever.
const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);

pub(super) fn request(
    tx: &Transaction<'_>,
    now: Timestamp,
    new: &NewApproval,
) -> Result<Approval, Failure> {
    let stale = now.checked_sub(KEPT).unwrap_or(Timestamp::MIN);
    tx.execute("DELETE FROM approval WHERE expires_at <= $1", [stale.as_millisecond()])?;

    let NewApproval { principal, tool, contract_digest, arguments_digest, .. } = new;
    let waiting = tx
        .query_row(
            &format!(
                "SELECT * FROM {APPROVALS} WHERE principal = $2 AND tool = $3 AND contract_digest = $4
                 AND arguments_digest = $5 AND state = 'pending'"
            ),
            (now.as_millisecond(), principal, tool, contract_digest, arguments_digest),
            from_row,
        )
        .optional()?;
    if let Some(waiting) = waiting {
        return Ok(waiting);
    }

    let id = random::id()?;
    let expires = now.checked_add(new.ttl).unwrap_or(Timestamp::MAX);
    tx.execute(
        "INSERT INTO approval (id, principal, client, tool, contract_digest, arguments_digest, summary,
         requested_at, expires_at, state) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'pending')",
        (
            &id,
            principal,
            &new.client,
            tool,
            contract_digest,
            arguments_digest,
            &new.summary,
            now.as_millisecond(),
            expires.as_millisecond(),
        ),
    )?;
    find(tx, now, &id)
}

pub(super) fn find(tx: &Transaction<'_>, now: Timestamp, id: &str) -> Result<Approval, Failure> {
    let prefix = random::normalize(id);
    let sql = format!("SELECT * FROM {APPROVALS} WHERE substr(id, 1, length($2)) = $2 LIMIT 2");
    let mut found = tx
        .prepare(&sql)?
        .query_map((now.as_millisecond(), &prefix), from_row)?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    match found.pop() {
        Some(approval) if found.is_empty() && !prefix.is_empty() => Ok(approval),
        Some(_) if !prefix.is_empty() => Err(StoreError::AmbiguousApproval { prefix }.into()),
        _ => Err(StoreError::UnknownApproval { id: id.to_owned() }.into()),
    }
}

pub(super) fn list(
    tx: &Transaction<'_>,
    now: Timestamp,
    state: Option<State>,
) -> Result<Vec<Approval>, Failure> {
    let sql = format!(
        "SELECT * FROM {APPROVALS} WHERE state = COALESCE($2, state) ORDER BY requested_at DESC, id"
    );
    let rows = tx
        .prepare(&sql)?
        .query_map((now.as_millisecond(), state.map(State::as_str)), from_row)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

pub(super) fn decide(
    tx: &Transaction<'_>,
    now: Timestamp,
    id: &str,
    decision: Decision,
    by: &str,
) -> Result<Approval, Failure> {
    let approval = find(tx, now, id)?;
    approval.check_pending()?;
    tx.execute(
        "UPDATE approval SET state = $1, decided_at = $2, decided_by = $3 WHERE id = $4",
        (State::from(decision).as_str(), now.as_millisecond(), by, &approval.id),
    )?;
    find(tx, now, &approval.id)
}

pub(super) fn consent(
    tx: &Transaction<'_>,
    now: Timestamp,
    request: &[String; 4],
) -> Result<Consent, Failure> {
    let now = now.as_millisecond();
    let [principal, tool, contract_digest, arguments_digest] = request;
    let newest = |state: State| {
        tx.query_row(
            "SELECT id FROM approval WHERE principal = $1 AND tool = $2 AND contract_digest = $3
             AND arguments_digest = $4 AND state = $5 AND expires_at > $6
             ORDER BY requested_at DESC, id LIMIT 1",
            (principal, tool, contract_digest, arguments_digest, state.as_str(), now),
            |row| row.get::<_, String>(0),
        )
        .optional()
    };
    if let Some(id) = newest(State::Approved)? {
        // The state is asked for once more: in a database without one write lock, that is what lets only one win.
        let used = tx.execute(
            "UPDATE approval SET state = 'used', used_at = $1 WHERE id = $2 AND state = 'approved'",
            (now, &id),
        )?;
        return Ok(if used == 1 { Consent::Approved(id) } else { Consent::None });
    }
    if let Some(id) = newest(State::Denied)? {
        return Ok(Consent::Denied(id));
    }
    Ok(newest(State::Pending)?.map_or(Consent::None, Consent::Pending))
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Approval> {
    Ok(Approval {
        id: row.get("id")?,
        state: state(&row.get::<_, String>("state")?)?,
        principal: row.get("principal")?,
        client: row.get("client")?,
        tool: row.get("tool")?,
        contract_digest: row.get("contract_digest")?,
        arguments_digest: row.get("arguments_digest")?,
        summary: row.get("summary")?,
        requested_at: time(row.get("requested_at")?)?,
        expires_at: time(row.get("expires_at")?)?,
        decided_at: row.get::<_, Option<i64>>("decided_at")?.map(time).transpose()?,
        decided_by: row.get("decided_by")?,
        used_at: row.get::<_, Option<i64>>("used_at")?.map(time).transpose()?,
    })
}

fn state(text: &str) -> rusqlite::Result<State> {
    State::ALL.into_iter().find(|state| state.as_str() == text).ok_or_else(|| {
        let reason = format!("{text} is no state of an approval").into();
        rusqlite::Error::FromSqlConversionFailure(0, Type::Text, reason)
    })
}
