//! The approve stage: a person agrees to this very call, or it does not run.
//!
//! Where the client can put a question to its user, it is asked there. Otherwise the call is queued in the store; a
//! person decides with `vouch approvals`, and the caller calls again. An approval is for one caller, one contract and
//! one set of arguments, is used once and expires.

use std::fmt::Write;
use std::time::Duration;

use contract::text::{one_line, visible};
use contract::{Caller, Code, Contract, ToolError};
use serde_json::{Value, json};
use store::{Consent, NewApproval, Store};

use crate::call::{Answers, Question, Stop};
use crate::inquiry::Inquiry;

/// The key under which the question travels. Tools of ours ask no question of this name.
const KEY: &str = "approval";

/// A call as a person judges it.
pub(crate) struct Request<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) contract: &'a Contract,
    pub(crate) arguments: &'a Value,
    pub(crate) arguments_digest: &'a str,
    /// The operator's rule that wants it, where the contract does not.
    pub(crate) rule: Option<&'a str>,
}

pub(crate) async fn approve(
    request: &Request<'_>,
    inquiry: &Inquiry,
    store: &dyn Store,
    lifetime: Duration,
) -> Result<(), Stop> {
    if inquiry.is_approved() {
        return Ok(());
    }
    if inquiry.abilities().elicitation {
        let answers = inquiry.ask_sealed(question(request)).await?;
        judge(&answers)?;
    } else {
        queue(request, store, lifetime).await?;
    }
    inquiry.approved();
    Ok(())
}

fn question(request: &Request<'_>) -> Question {
    let schema = json!({
        "type": "object",
        "properties": {
            "approve": {
                "type": "boolean",
                "title": "Approve",
                "description": "Let this one call run",
            },
        },
        "required": ["approve"],
    });
    Question::form(KEY, summary(request), schema)
}

fn judge(answers: &Answers) -> Result<(), ToolError> {
    let answer = answers.get(KEY);
    let accepted = answer.and_then(|answer| answer.get("action")) == Some(&json!("accept"))
        && answer.and_then(|answer| answer.pointer("/content/approve")) == Some(&json!(true));
    if accepted {
        Ok(())
    } else {
        Err(ToolError::new(
            Code::ApprovalDenied,
            "the person behind this client did not approve the call",
        )
        .with("retry", false))
    }
}

async fn queue(
    request: &Request<'_>,
    store: &dyn Store,
    lifetime: Duration,
) -> Result<(), ToolError> {
    let Request { caller, contract, arguments_digest, .. } = request;
    let unavailable = |error: store::StoreError| {
        tracing::error!(%error, "the approval queue cannot be used");
        ToolError::new(
            Code::InternalError,
            "the approval queue cannot be used; the server's log has the cause",
        )
    };
    let consent = store
        .consent(&caller.principal, &contract.name, contract.digest(), arguments_digest)
        .await
        .map_err(unavailable)?;
    match consent {
        Consent::Approved(_) => Ok(()),
        Consent::Denied(id) => Err(ToolError::new(
            Code::ApprovalDenied,
            format!("a person denied this call (approval {id})"),
        )
        .with("approvalId", id)
        .with("retry", false)),
        Consent::Pending(_) | Consent::None => {
            let approval = store
                .request_approval(NewApproval {
                    principal: caller.principal.to_string(),
                    client: caller.client.as_deref().map(str::to_owned),
                    tool: contract.name.clone(),
                    contract_digest: contract.digest().to_owned(),
                    arguments_digest: (*arguments_digest).to_owned(),
                    summary: summary(request),
                    ttl: lifetime,
                })
                .await
                .map_err(unavailable)?;
            Err(ToolError::new(
                Code::ApprovalRequired,
                format!(
                    "a person must approve this call first: ask them to run `vouch approvals approve {}`, then call again with the same arguments",
                    approval.id
                ),
            )
            .with("approvalId", approval.id)
            .with("expiresAt", approval.expires_at.to_string()))
        }
    }
}

/// What the person reads: who asks for what, with every argument whole and nothing hidden.
fn summary(request: &Request<'_>) -> String {
    let Request { caller, contract, arguments, rule, .. } = request;
    let mut out = format!("Allow `{}`?\n", contract.name);
    let client = caller.client.as_deref().map(|client| format!(" ({})", one_line(client)));
    let line = format!("Caller: {}{}\n", one_line(&caller.principal), client.unwrap_or_default());
    out.push_str(&line);
    let title = contract.title.as_deref().unwrap_or(&contract.description);
    writeln!(out, "It will: {}", one_line(title)).expect("writing to a string never fails");
    if let Some(rule) = rule {
        writeln!(out, "Asked for by the rule: {}", one_line(rule))
            .expect("writing to a string never fails");
    }
    out.push('\n');
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let text = match value {
            Value::String(text) => visible(text),
            other => visible(&format!("{other:#}")),
        };
        out.push_str(&one_line(name));
        if text.contains('\n') || text.len() > 80 {
            out.push_str(":\n");
            // The bar shows where the argument begins and ends, so that it cannot pose as our own words.
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
