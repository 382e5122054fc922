//! SQL statements on approvals. Each function is the body of one transaction.

use jiff::{SignedDuration, Timestamp};
use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, Transaction};

use super::{TransactionError, timestamp_from_millis};
use crate::random;
use crate::{
    Approval, ApprovalChannel, ApprovalDecision, ApprovalState, Approver, Consent, NewApproval,
    StoreError,
};

/// Subquery for approvals with their current state at time `$1`. The state `expired` is derived only here.
const APPROVALS: &str = "(SELECT id, principal, client, tool, contract_digest, arguments_digest, summary,
    requested_at, expires_at, decided_at, decided_by, channel, used_at,
    CASE WHEN state IN ('pending', 'approved') AND expires_at <= $1 THEN 'expired' ELSE state END AS state
    FROM approval) AS approval";

/// Time after its expiry during which an approval can still be looked up. The audit log keeps the call indefinitely.
const RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Returns the pending approval for the same request, or inserts a new one. Deletes old approvals.
pub(super) fn request_approval(
    tx: &Transaction<'_>,
    now: Timestamp,
    new: &NewApproval,
) -> Result<Approval, TransactionError> {
    let stale = now.checked_sub(RETENTION).unwrap_or(Timestamp::MIN);
    tx.execute("DELETE FROM approval WHERE expires_at <= $1", [stale.as_millisecond()])?;

    let NewApproval { principal, tool, contract_digest, arguments_digest, .. } = new;
    let pending = tx
        .query_row(
            &format!(
                "SELECT * FROM {APPROVALS} WHERE principal = $2 AND tool = $3 AND contract_digest = $4
                 AND arguments_digest = $5 AND state = 'pending'"
            ),
            (now.as_millisecond(), principal, tool, contract_digest, arguments_digest),
            from_row,
        )
        .optional()?;
    if let Some(pending) = pending {
        return Ok(pending);
    }

    let expires = now.checked_add(new.ttl).unwrap_or(Timestamp::MAX);
    insert_approval(tx, now, new, expires)
}

/// Inserts a pending approval and returns it.
fn insert_approval(
    tx: &Transaction<'_>,
    now: Timestamp,
    new: &NewApproval,
    expires: Timestamp,
) -> Result<Approval, TransactionError> {
    let NewApproval { principal, tool, contract_digest, arguments_digest, .. } = new;
    let id = random::generate_id()?;
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
    find_approval(tx, now, &id)
}

/// Inserts an approval that was decided when it was requested. An approved one is used at once, and a denied one
/// concerns this call only, so neither is found by another call.
pub(super) fn record_answer(
    tx: &Transaction<'_>,
    now: Timestamp,
    new: &NewApproval,
    decision: ApprovalDecision,
    approver: &Approver,
) -> Result<Approval, TransactionError> {
    let approval = insert_approval(tx, now, new, now)?;
    let used = (decision == ApprovalDecision::Approve).then(|| now.as_millisecond());
    let state = match decision {
        ApprovalDecision::Approve => ApprovalState::Used,
        ApprovalDecision::Deny => ApprovalState::Denied,
    };
    tx.execute(
        "UPDATE approval SET state = $1, decided_at = $2, decided_by = $3, channel = $4, used_at = $5
         WHERE id = $6",
        (
            state.as_str(),
            now.as_millisecond(),
            &approver.name,
            approver.channel.as_str(),
            used,
            &approval.id,
        ),
    )?;
    find_approval(tx, now, &approval.id)
}

/// Returns the approval with this id or unique id prefix.
pub(super) fn find_approval(
    tx: &Transaction<'_>,
    now: Timestamp,
    id: &str,
) -> Result<Approval, TransactionError> {
    let prefix = random::normalize_id(id);
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

pub(super) fn list_approvals(
    tx: &Transaction<'_>,
    now: Timestamp,
    state: Option<ApprovalState>,
) -> Result<Vec<Approval>, TransactionError> {
    let sql = format!(
        "SELECT * FROM {APPROVALS} WHERE state = COALESCE($2, state) ORDER BY requested_at DESC, id"
    );
    let rows = tx
        .prepare(&sql)?
        .query_map((now.as_millisecond(), state.map(ApprovalState::as_str)), from_row)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

pub(super) fn decide_approval(
    tx: &Transaction<'_>,
    now: Timestamp,
    id: &str,
    decision: ApprovalDecision,
    approver: &Approver,
) -> Result<Approval, TransactionError> {
    let approval = find_approval(tx, now, id)?;
    approval.check_pending()?;
    if approval.principal == approver.name && decision == ApprovalDecision::Approve {
        return Err(
            StoreError::SelfApproval { id: approval.id, principal: approval.principal }.into()
        );
    }
    tx.execute(
        "UPDATE approval SET state = $1, decided_at = $2, decided_by = $3, channel = $4 WHERE id = $5",
        (
            ApprovalState::from(decision).as_str(),
            now.as_millisecond(),
            &approver.name,
            approver.channel.as_str(),
            &approval.id,
        ),
    )?;
    find_approval(tx, now, &approval.id)
}

/// Returns the consent for a request given as principal, tool, contract digest and arguments digest.
pub(super) fn claim_consent(
    tx: &Transaction<'_>,
    now: Timestamp,
    request: &[String; 4],
) -> Result<Consent, TransactionError> {
    let now = now.as_millisecond();
    let [principal, tool, contract_digest, arguments_digest] = request;
    let newest = |state: ApprovalState| {
        tx.query_row(
            "SELECT id, decided_by, channel FROM approval WHERE principal = $1 AND tool = $2 AND contract_digest = $3
             AND arguments_digest = $4 AND state = $5 AND expires_at > $6
             ORDER BY requested_at DESC, id LIMIT 1",
            (principal, tool, contract_digest, arguments_digest, state.as_str(), now),
            |row| Ok((row.get::<_, String>(0)?, row.get(1)?, read_channel(row)?)),
        )
        .optional()
    };
    if let Some((id, decided_by, channel)) = newest(ApprovalState::Approved)? {
        // The state is checked again. In a database without a single write lock, this lets only one caller win.
        let used = tx.execute(
            "UPDATE approval SET state = 'used', used_at = $1 WHERE id = $2 AND state = 'approved'",
            (now, &id),
        )?;
        let approver = approver_from_columns(decided_by, channel);
        return Ok(if used == 1 { Consent::Approved { id, approver } } else { Consent::None });
    }
    if let Some((id, ..)) = newest(ApprovalState::Denied)? {
        return Ok(Consent::Denied(id));
    }
    Ok(newest(ApprovalState::Pending)?.map_or(Consent::None, |(id, ..)| Consent::Pending(id)))
}

/// Returns the approver of a decision. Decisions of earlier versions have no channel; only the queue existed then.
fn approver_from_columns(name: Option<String>, channel: Option<ApprovalChannel>) -> Approver {
    Approver { name: name.unwrap_or_default(), channel: channel.unwrap_or(ApprovalChannel::Queue) }
}

fn read_channel(row: &Row<'_>) -> rusqlite::Result<Option<ApprovalChannel>> {
    let Some(text) = row.get::<_, Option<String>>("channel")? else { return Ok(None) };
    let found = ApprovalChannel::ALL.into_iter().find(|channel| channel.as_str() == text);
    found.map(Some).ok_or_else(|| invalid_text("approval channel", &text))
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Approval> {
    Ok(Approval {
        id: row.get("id")?,
        state: parse_state(&row.get::<_, String>("state")?)?,
        principal: row.get("principal")?,
        client: row.get("client")?,
        tool: row.get("tool")?,
        contract_digest: row.get("contract_digest")?,
        arguments_digest: row.get("arguments_digest")?,
        summary: row.get("summary")?,
        requested_at: timestamp_from_millis(row.get("requested_at")?)?,
        expires_at: timestamp_from_millis(row.get("expires_at")?)?,
        decided_at: row
            .get::<_, Option<i64>>("decided_at")?
            .map(timestamp_from_millis)
            .transpose()?,
        decided_by: row.get("decided_by")?,
        channel: read_channel(row)?,
        used_at: row.get::<_, Option<i64>>("used_at")?.map(timestamp_from_millis).transpose()?,
    })
}

fn parse_state(text: &str) -> rusqlite::Result<ApprovalState> {
    let found = ApprovalState::ALL.into_iter().find(|state| state.as_str() == text);
    found.ok_or_else(|| invalid_text("approval state", text))
}

fn invalid_text(what: &str, text: &str) -> rusqlite::Error {
    let reason = format!("unknown {what} \"{text}\"").into();
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, reason)
}
