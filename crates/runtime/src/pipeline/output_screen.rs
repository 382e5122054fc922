//! Searches everything that a call returns for secrets, with the rules that also guard memory entries.
//!
//! Start at [`Pipeline::screen_reply`]. It runs on the final reply, so results, errors and elicitations of all tools and upstreams
//! take one path. A reply without a secret is not touched; an upstream's answer is then still forwarded byte for byte. A
//! secret is replaced in structured content and text alike, wherever it occurs in the reply. The reply is refused if it
//! cannot be replaced: the result would break its output schema, or the secret is spread over several strings.
//!
//! `json_secrets.rs` walks JSON values.

mod json_secrets;

use std::sync::Arc;

use async_trait::async_trait;
use contract::{ContentBlock, Contract, ErrorCode, Progress, RawResult, ToolError, ToolOutput};
use secrets::SecretRedactor;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use store::Approver;

use self::json_secrets::JsonSecrets;
use super::Pipeline;
use super::answer::output_size;
use super::call_record::CallRecord;
use crate::call::{
    ElicitationChannel, ElicitationHandler, ElicitationKind, ElicitationRequest, ToolReply,
};

/// Maximum size of a reply that is screened on the thread that serves the connection.
const MAX_INSTANT_BYTES: usize = 128 * 1024;

/// The handling of secrets in replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecretOutputMode {
    /// Secrets are replaced.
    #[default]
    Redact,
    /// A result with a secret is refused.
    Refuse,
    /// Replies are not searched.
    Off,
}

/// A reply without secrets, and the secrets that were found.
struct ScreenedReply {
    reply: ToolReply,
    /// Number of secrets by rule id.
    hits: Vec<(&'static str, u64)>,
}

impl Pipeline {
    /// Removes secrets from the reply and counts them. Large replies are searched off the connection's thread.
    pub(super) async fn screen_reply(
        &self,
        reply: ToolReply,
        record: &mut CallRecord<'_>,
    ) -> ToolReply {
        let mode = self.options().output_secrets;
        let contract = record.contract().cloned();
        let is_large = reply_size(&reply) > MAX_INSTANT_BYTES;
        let screened = if is_large {
            let screen = move || Ok(screen_reply(mode, contract.as_deref(), reply));
            match crate::local::run_blocking(screen).await {
                Ok(screened) => screened,
                Err(error) => return ToolReply::Failed(error),
            }
        } else {
            screen_reply(mode, contract.as_deref(), reply)
        };
        record.set_secrets(&screened.hits);
        screened.reply
    }
}

/// Returns the reply without secrets.
fn screen_reply(
    mode: SecretOutputMode,
    contract: Option<&Contract>,
    reply: ToolReply,
) -> ScreenedReply {
    if mode == SecretOutputMode::Off {
        return ScreenedReply { reply, hits: Vec::new() };
    }
    let mut secrets = JsonSecrets::default();
    let reply = match reply {
        ToolReply::Done(output) => {
            collect_output(&mut secrets, &output);
            if secrets.is_empty() {
                ToolReply::Done(output)
            } else if mode == SecretOutputMode::Refuse {
                ToolReply::Failed(refusal_error(contract, &secrets, "its answers are not redacted"))
            } else {
                match redact_output(&mut secrets, contract, output) {
                    Ok(output) => ToolReply::Done(output),
                    Err(reason) => ToolReply::Failed(refusal_error(contract, &secrets, reason)),
                }
            }
        }
        ToolReply::Failed(error) => ToolReply::Failed(screen_error(&mut secrets, error)),
        ToolReply::InputRequired { mut elicitations, state } => {
            for request in &mut elicitations {
                screen_elicitation(&mut secrets, request);
            }
            ToolReply::InputRequired { elicitations, state }
        }
        ToolReply::Refused(refusal) => ToolReply::Refused(refusal),
    };
    ScreenedReply { reply, hits: secrets.redactor.hits().collect() }
}

/// Returns the approximate size of a reply in bytes, to decide on which thread it is screened.
fn reply_size(reply: &ToolReply) -> usize {
    match reply {
        ToolReply::Done(output) => {
            output.raw.as_ref().map_or_else(|| output_size(output), |raw| raw.text.len())
        }
        _ => 0,
    }
}

/// The members of a raw answer besides its content.
#[derive(Deserialize)]
struct OtherMembers {
    #[serde(default, rename = "content")]
    _content: IgnoredAny,
    #[serde(default, rename = "structuredContent")]
    _structured_content: IgnoredAny,
    #[serde(flatten)]
    others: Map<String, Value>,
}

fn collect_output(secrets: &mut JsonSecrets, output: &ToolOutput) {
    // The text of a raw answer is searched as a whole. Its strings are searched one by one only if the text has an escape,
    // which can hide something; encoded strings in any case. Content and structured content are parsed already.
    let mut with_texts = true;
    if let Some(raw) = &output.raw {
        secrets.redactor.collect(&raw.text);
        with_texts = raw.text.contains('\\');
        if let Ok(OtherMembers { others, .. }) = serde_json::from_str(&raw.text) {
            secrets.collect_value(&Value::Object(others), with_texts);
        }
    }
    if let Some(value) = &output.structured {
        secrets.collect_value(value, with_texts);
    }
    if !output.has_derived_text {
        let texts: Vec<&str> = output.content.iter().filter_map(block_text).collect();
        secrets.collect_joined(&texts);
        for block in &output.content {
            match block {
                ContentBlock::Text(text) => secrets.collect_text(text),
                ContentBlock::Block(block) => secrets.collect_value(block, with_texts),
            }
        }
    }
    secrets.finish_search();
}

fn block_text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(text),
        ContentBlock::Block(block) => block.get("text").and_then(Value::as_str),
    }
}

/// Returns the output without secrets, or the reason why that is not possible.
fn redact_output(
    secrets: &mut JsonSecrets,
    contract: Option<&Contract>,
    mut output: ToolOutput,
) -> Result<ToolOutput, &'static str> {
    if secrets.is_spread {
        return Err("it is spread over several strings or part of binary content");
    }
    if let Some(value) = &mut output.structured {
        secrets.redact_value(value);
    }
    if let Some(raw) = output.raw.take() {
        let mut whole: Value =
            serde_json::from_str(&raw.text).map_err(|_| "it cannot be removed")?;
        secrets.redact_value(&mut whole);
        if raw.has_structured {
            output.structured = whole.get("structuredContent").cloned();
        }
        let text = serde_json::to_string(&whole).expect("a JSON value always serializes");
        output.raw = Some(RawResult { text: text.into(), ..raw });
    }
    if output.has_derived_text
        && let Some(value) = &output.structured
    {
        let text = serde_json::to_string(value).expect("a JSON value always serializes");
        output.content = vec![ContentBlock::Text(text)];
    } else {
        for block in &mut output.content {
            match block {
                ContentBlock::Text(text) => secrets.redact_text(text),
                ContentBlock::Block(block) => secrets.redact_value(block),
            }
        }
    }
    check_redacted(contract, &output)?;
    Ok(output)
}

/// Checks that a redacted output still keeps its contract, and that nothing was missed.
fn check_redacted(contract: Option<&Contract>, output: &ToolOutput) -> Result<(), &'static str> {
    let mut again = JsonSecrets::default();
    collect_output(&mut again, output);
    if !again.is_empty() {
        return Err("it cannot be removed");
    }
    let Some(contract) = contract else { return Ok(()) };
    let schema = contract.output.as_ref().filter(|_| !output.is_error);
    if let (Some(schema), Some(value)) = (schema, &output.structured)
        && schema.validate(value).is_err()
    {
        return Err("without it the answer would break its contract");
    }
    let size = output.raw.as_ref().map_or_else(|| output_size(output), |raw| raw.text.len());
    match size > contract.constraints.max_output_bytes {
        true => Err("without it the answer would be over its size limit"),
        false => Ok(()),
    }
}

/// Returns the error for an answer that is not passed on. It names the rules, never the secret.
fn refusal_error(contract: Option<&Contract>, secrets: &JsonSecrets, reason: &str) -> ToolError {
    let rules: Vec<_> = secrets.redactor.rules().collect();
    let mut found: Vec<_> = rules.iter().map(|rule| rule.description).collect();
    found.dedup();
    let tool = contract.map_or("the tool", |contract| contract.name.as_str());
    let message =
        format!("the answer of `{tool}` contains {} and is refused: {reason}", found.join(", "));
    let ids: Vec<_> = rules.iter().map(|rule| rule.id).collect();
    ToolError::new(ErrorCode::AccessDenied, message)
        .with_detail("tool", tool)
        .with_detail("rules", ids)
        .with_detail(
            "hint",
            "ask for a part of the data without the secret, or set `output` in [secrets]",
        )
}

/// Returns the error without secrets. Its code and shape remain.
fn screen_error(secrets: &mut JsonSecrets, mut error: ToolError) -> ToolError {
    secrets.collect_text(&error.message);
    let mut details = Value::Object(std::mem::take(&mut error.details));
    secrets.collect_value(&details, true);
    if !secrets.is_empty() {
        secrets.redact_text(&mut error.message);
        if secrets.is_spread {
            details = Value::Object(serde_json::Map::new());
        }
        secrets.redact_value(&mut details);
    }
    if let Value::Object(details) = details {
        error.details = details;
    }
    error
}

/// Replaces the secrets in an upstream's elicitation. The address that a person is to visit is kept: it may carry a
/// sign-in state. Our own forms are kept too: a person must see what an approval is about.
fn screen_elicitation(secrets: &mut JsonSecrets, request: &mut ElicitationRequest) {
    let (ElicitationKind::RawElicitation(params) | ElicitationKind::Sampling(params)) =
        &mut request.kind
    else {
        return;
    };
    let url = params.get_mut("url").map(Value::take);
    secrets.collect_value(params, true);
    if !secrets.is_empty() {
        secrets.redact_value(params);
    }
    if let Some(url) = url {
        params["url"] = url;
    }
}

/// Replaces the secrets in a progress message.
pub(super) fn screen_progress(mode: SecretOutputMode, mut progress: Progress) -> Progress {
    if mode != SecretOutputMode::Off
        && let Some(message) = &mut progress.message
    {
        let mut redactor = SecretRedactor::default();
        if redactor.collect(message) {
            *message = redactor.redact(message).unwrap_or_default();
        }
    }
    progress
}

/// Returns the channel to the client, with elicitations screened before they are sent over an open connection.
pub(super) fn screen_channel(
    mode: SecretOutputMode,
    channel: ElicitationChannel,
) -> ElicitationChannel {
    match channel {
        ElicitationChannel::Connected { capabilities, handler }
            if mode != SecretOutputMode::Off =>
        {
            let handler = Arc::new(ScreenedHandler(handler));
            ElicitationChannel::Connected { capabilities, handler }
        }
        other => other,
    }
}

/// Screens the elicitations that are sent over an open connection.
struct ScreenedHandler(Arc<dyn ElicitationHandler>);

#[async_trait]
impl ElicitationHandler for ScreenedHandler {
    async fn elicit(&self, request: &ElicitationRequest) -> Result<Value, String> {
        let mut request = request.clone();
        screen_elicitation(&mut JsonSecrets::default(), &mut request);
        self.0.elicit(&request).await
    }

    fn approver(&self) -> Option<Approver> {
        self.0.approver()
    }
}
