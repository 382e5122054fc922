//! The approval stage: a person approves this exact call, or it does not run.
//!
//! If the client supports elicitation, its user is asked directly. Otherwise the call is queued in the store: a person
//! decides with `vouch approvals`, and the caller calls again. An approval applies to one caller, one contract and one
//! set of arguments. It is used once and expires.

use std::fmt::Write;
use std::time::Duration;

use contract::text::{escape_hidden, one_line};
use contract::{Caller, Contract, ErrorCode, ToolError};
use serde_json::{Value, json};
use store::{Consent, NewApproval, Store};

use crate::call::{CallInterruption, ElicitationAnswers, ElicitationRequest};
use crate::elicitation::ElicitationBroker;

/// The key of the approval elicitation. Local tools do not use this key.
const APPROVAL_KEY: &str = "approval";

/// A call to be approved, as shown to the person.
pub(crate) struct ApprovalRequest<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) contract: &'a Contract,
    pub(crate) arguments: &'a Value,
    pub(crate) arguments_digest: &'a str,
    /// The operator's rule that requires the approval, if the contract does not.
    pub(crate) rule: Option<&'a str>,
}

/// Returns `Ok` once the call is approved. Errors if the approval was denied, is pending, or needs another round.
pub(crate) async fn approve_call(
    request: &ApprovalRequest<'_>,
    broker: &ElicitationBroker,
    store: &dyn Store,
    lifetime: Duration,
) -> Result<(), CallInterruption> {
    if broker.is_approved() {
        return Ok(());
    }
    if broker.capabilities().elicitation {
        let answers = broker.elicit_sealed(build_elicitation(request)).await?;
        check_answer(&answers)?;
    } else {
        consult_queue(request, store, lifetime).await?;
    }
    broker.mark_approved();
    Ok(())
}

fn build_elicitation(request: &ApprovalRequest<'_>) -> ElicitationRequest {
    let schema = json!({
        "type": "object",
        "properties": {
            "approve": {
                "type": "boolean",
                "title": "Approve",
                "description": "Allow this one call",
            },
        },
        "required": ["approve"],
    });
    ElicitationRequest::new_form(APPROVAL_KEY, format_summary(request), schema)
}

fn check_answer(answers: &ElicitationAnswers) -> Result<(), ToolError> {
    let answer = answers.get(APPROVAL_KEY);
    let accepted = answer.and_then(|answer| answer.get("action")) == Some(&json!("accept"))
        && answer.and_then(|answer| answer.pointer("/content/approve")) == Some(&json!(true));
    if accepted {
        Ok(())
    } else {
        Err(ToolError::new(ErrorCode::ApprovalDenied, "the user did not approve the call")
            .with_detail("retry", false))
    }
}

/// Looks up the decision in the queue. Adds the call to the queue if it is undecided, and returns an error.
async fn consult_queue(
    request: &ApprovalRequest<'_>,
    store: &dyn Store,
    lifetime: Duration,
) -> Result<(), ToolError> {
    let ApprovalRequest { caller, contract, arguments_digest, .. } = request;
    let unavailable = |error: store::StoreError| {
        tracing::error!(%error, "approval queue unavailable");
        ToolError::new(
            ErrorCode::InternalError,
            "approval queue unavailable; see the server log for the cause",
        )
    };
    let consent = store
        .claim_consent(&caller.principal, &contract.name, contract.digest(), arguments_digest)
        .await
        .map_err(unavailable)?;
    match consent {
        Consent::Approved(_) => Ok(()),
        Consent::Denied(id) => Err(ToolError::new(
            ErrorCode::ApprovalDenied,
            format!("a person denied this call (approval {id})"),
        )
        .with_detail("approvalId", id)
        .with_detail("retry", false)),
        Consent::Pending(_) | Consent::None => {
            let approval = store
                .request_approval(NewApproval {
                    principal: caller.principal.to_string(),
                    client: caller.client.as_deref().map(str::to_owned),
                    tool: contract.name.clone(),
                    contract_digest: contract.digest().to_owned(),
                    arguments_digest: (*arguments_digest).to_owned(),
                    summary: format_summary(request),
                    ttl: lifetime,
                })
                .await
                .map_err(unavailable)?;
            Err(ToolError::new(
                ErrorCode::ApprovalRequired,
                format!(
                    "a person must approve this call first: ask them to run `vouch approvals approve {}`, then call again with the same arguments",
                    approval.id
                ),
            )
            .with_detail("approvalId", approval.id)
            .with_detail("expiresAt", approval.expires_at.to_string()))
        }
    }
}

/// Returns the text shown to the person: caller, action and all arguments in full, with invisible characters escaped.
fn format_summary(request: &ApprovalRequest<'_>) -> String {
    let ApprovalRequest { caller, contract, arguments, rule, .. } = request;
    let mut out = format!("Allow `{}`?\n", contract.name);
    let client = caller.client.as_deref().map(|client| format!(" ({})", one_line(client)));
    let line = format!("Caller: {}{}\n", one_line(&caller.principal), client.unwrap_or_default());
    out.push_str(&line);
    let title = contract.title.as_deref().unwrap_or(&contract.description);
    writeln!(out, "Action: {}", one_line(title)).expect("writing to a string never fails");
    if let Some(rule) = rule {
        writeln!(out, "Required by rule: {}", one_line(rule))
            .expect("writing to a string never fails");
    }
    out.push('\n');
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let text = match value {
            Value::String(text) => escape_hidden(text),
            other => escape_hidden(&format!("{other:#}")),
        };
        out.push_str(&one_line(name));
        if text.contains('\n') || text.len() > 80 {
            out.push_str(":\n");
            // The bar marks where the argument begins and ends, so that it cannot imitate the surrounding text.
            for line in text.split('\n') {
                out.push_str("  │ ");
                out.push_str(line);
                out.push('\n');
            }
        } else {
            out.push_str(": ");
            out.push_str(&text);
            out.push('\n');
        }
    }
    out
}
