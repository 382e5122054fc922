//! The approval stage: a person approves this exact call, or it does not run.
//!
//! There are two routes. If the operator allows it and the client supports elicitation, its user is asked directly: this
//! is as trustworthy as the client. Otherwise the call is queued in the store: another principal decides, with
//! `vouch approvals`, and the caller calls again. An approval applies to one caller, one contract and one set of
//! arguments. It is used once and expires. Each has an id, and the audit record names it.

use std::fmt::Write;
use std::time::Duration;

use contract::text::{escape_hidden, one_line};
use contract::{Caller, Contract, ErrorCode, ToolError};
use serde_json::{Value, json};
use store::audit::AuditApproval;
use store::{ApprovalChannel, ApprovalDecision, Approver, Consent, NewApproval, Store};

use crate::call::{CallInterruption, CallOrigin, ElicitationAnswers, ElicitationRequest};
use crate::elicitation::ElicitationBroker;
use crate::policy::ApprovalRoute;

/// The key of the approval elicitation. Local tools do not use this key.
const APPROVAL_KEY: &str = "approval";

/// The approval setting of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalMode {
    /// Every call needs a person's approval.
    #[default]
    Ask,
    /// Every call needs the approval of another principal: the client is not asked.
    Queue,
    /// Every call is approved automatically.
    Always,
    /// Every call is denied.
    Never,
}

/// A call to be approved, as shown to the person.
pub(crate) struct ApprovalRequest<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) contract: &'a Contract,
    pub(crate) arguments: &'a Value,
    pub(crate) arguments_digest: &'a str,
    /// The operator's rule that requires the approval, if the contract does not.
    pub(crate) rule: Option<&'a str>,
    /// Time until the approval expires.
    pub(crate) lifetime: Duration,
}

impl ApprovalRequest<'_> {
    fn to_new_approval(&self) -> NewApproval {
        NewApproval {
            principal: self.caller.principal.to_string(),
            client: self.caller.client.as_deref().map(str::to_owned),
            tool: self.contract.name.clone(),
            contract_digest: self.contract.digest().to_owned(),
            arguments_digest: self.arguments_digest.to_owned(),
            summary: format_summary(self),
            ttl: self.lifetime,
        }
    }
}

/// Returns true if the call needs an approval. Errors if the setting denies it. Order of precedence: the settings `never`,
/// `ask` and `queue`, the operator's rule, the setting `always`, the contract.
pub(crate) fn is_required(
    mode: Option<ApprovalMode>,
    contract: &Contract,
    rule: Option<&str>,
) -> Result<bool, ToolError> {
    match mode {
        Some(ApprovalMode::Never) => Err(ToolError::new(
            ErrorCode::ApprovalDenied,
            format!("`{}` is disabled by policy (approve = \"never\")", contract.name),
        )
        .with_detail("retry", false)),
        Some(ApprovalMode::Ask | ApprovalMode::Queue) => Ok(true),
        // A rule matches this specific call, so it takes precedence over the setting of the tool.
        _ if rule.is_some() => Ok(true),
        Some(ApprovalMode::Always) => Ok(false),
        None => Ok(contract.constraints.approval),
    }
}

/// Returns the route of an approval: the strictest of the settings for all tools, for the tool and for the client. The
/// client's setting `ask` replaces only the default of its origin.
pub(crate) fn choose_route(
    queue_all: bool,
    mode: Option<ApprovalMode>,
    client: Option<ApprovalRoute>,
    origin: CallOrigin,
) -> ApprovalRoute {
    if queue_all || mode == Some(ApprovalMode::Queue) {
        return ApprovalRoute::Queue;
    }
    client.unwrap_or(match origin {
        CallOrigin::Local => ApprovalRoute::Ask,
        CallOrigin::Network => ApprovalRoute::Queue,
    })
}

/// Returns the approval once the call is approved. Errors if it was denied, is pending, or needs another round.
pub(crate) async fn approve_call(
    request: &ApprovalRequest<'_>,
    broker: &ElicitationBroker,
    store: &dyn Store,
    route: ApprovalRoute,
) -> Result<AuditApproval, CallInterruption> {
    if let Some(id) = broker.past_approval() {
        return Ok(load_approval(store, id).await?);
    }
    let approval = if route == ApprovalRoute::Ask && broker.capabilities().elicitation {
        let answers = broker.elicit_sealed(build_elicitation(request)).await?;
        record_answer(request, store, &answers, &broker.approver(&request.caller.principal)).await?
    } else {
        consult_queue(request, store).await?
    };
    broker.keep_approval(&approval.id);
    Ok(approval)
}

/// Returns the approval that an earlier round of this call obtained.
async fn load_approval(store: &dyn Store, id: &str) -> Result<AuditApproval, ToolError> {
    let approval = store.find_approval(id).await.map_err(unavailable_error)?;
    Ok(AuditApproval {
        id: approval.id,
        by: approval.decided_by.unwrap_or_default(),
        channel: approval.channel.unwrap_or(ApprovalChannel::Queue),
    })
}

/// Records the answer to an elicitation and returns the approval. Errors if it is not a yes.
async fn record_answer(
    request: &ApprovalRequest<'_>,
    store: &dyn Store,
    answers: &ElicitationAnswers,
    approver: &Approver,
) -> Result<AuditApproval, ToolError> {
    let accepted = is_accepted(answers);
    let decision = if accepted { ApprovalDecision::Approve } else { ApprovalDecision::Deny };
    let recorded = store.record_answer(request.to_new_approval(), decision, approver).await;
    if !accepted {
        return Err(ToolError::new(ErrorCode::ApprovalDenied, "the user did not approve the call")
            .with_detail("retry", false));
    }
    let Approver { name, channel } = approver.clone();
    Ok(AuditApproval { id: recorded.map_err(unavailable_error)?.id, by: name, channel })
}

fn unavailable_error(error: store::StoreError) -> ToolError {
    tracing::error!(%error, "approval queue unavailable");
    ToolError::new(
        ErrorCode::StorageUnavailable,
        "approval queue unavailable; see the server log for the cause",
    )
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

fn is_accepted(answers: &ElicitationAnswers) -> bool {
    let answer = answers.get(APPROVAL_KEY);
    answer.and_then(|answer| answer.get("action")) == Some(&json!("accept"))
        && answer.and_then(|answer| answer.pointer("/content/approve")) == Some(&json!(true))
}

/// Returns the approval in the queue. If the call is undecided, adds it to the queue and returns an error.
async fn consult_queue(
    request: &ApprovalRequest<'_>,
    store: &dyn Store,
) -> Result<AuditApproval, ToolError> {
    let ApprovalRequest { caller, contract, arguments_digest, .. } = request;
    let consent = store
        .claim_consent(&caller.principal, &contract.name, contract.digest(), arguments_digest)
        .await
        .map_err(unavailable_error)?;
    match consent {
        Consent::Approved { id, approver: Approver { name, channel } } => {
            Ok(AuditApproval { id, by: name, channel })
        }
        Consent::Denied(id) => Err(ToolError::new(
            ErrorCode::ApprovalDenied,
            format!("a person denied this call (approval {id})"),
        )
        .with_detail("approvalId", id)
        .with_detail("retry", false)),
        Consent::Pending(_) | Consent::None => {
            let approval = store
                .request_approval(request.to_new_approval())
                .await
                .map_err(unavailable_error)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strictest_setting_chooses_the_route() {
        use ApprovalRoute::{Ask, Queue};
        use CallOrigin::{Local, Network};
        let modes = [None, Some(ApprovalMode::Ask), Some(ApprovalMode::Always)];
        for mode in modes {
            for (client, local, network) in
                [(None, Ask, Queue), (Some(Ask), Ask, Ask), (Some(Queue), Queue, Queue)]
            {
                assert_eq!(choose_route(false, mode, client, Local), local, "{mode:?} {client:?}");
                assert_eq!(
                    choose_route(false, mode, client, Network),
                    network,
                    "{mode:?} {client:?}"
                );
            }
        }
        for client in [None, Some(Ask), Some(Queue)] {
            for origin in [Local, Network] {
                let by_tool = choose_route(false, Some(ApprovalMode::Queue), client, origin);
                assert_eq!(by_tool, Queue, "{client:?} {origin:?}");
                for mode in modes {
                    assert_eq!(choose_route(true, mode, client, origin), Queue, "{client:?}");
                }
            }
        }
    }
}
