//! Invokes a tool of an upstream server on behalf of the pipeline.
//!
//! This module checks only what the pipeline cannot see, namely whether there was an answer at all. The pipeline checks
//! the contract, as for every other tool.

use std::sync::Arc;

use admit::learn::{CallSample, SampleAnswer as Learned};
use admit::{ResultMode, ToolAdmission, structure_answer};
use async_trait::async_trait;
use contract::{CallContext, ContentBlock, ErrorCode, RawResult, ToolError, ToolOutput};
use link::{
    CallContinuation, CallFailure, CallOutcome, Connection, ConnectionError, ElicitationResponder,
    ProgressSink, ProtocolEra, UpstreamCall, UpstreamResponse,
};
use runtime::{AnswerOrigin, CallInterruption, ElicitationBroker, Invoker};
use serde_json::{Map, Value};

use crate::parking::{ParkedCalls, RunningCall};
use crate::relay;
use crate::samples::SampleRecorder;

/// Maximum rounds of elicitation in one call.
const MAX_ROUNDS: usize = 16;

/// An upstream tool as an [`Invoker`]. Cheap to clone.
#[derive(Clone)]
pub(crate) struct UpstreamTool {
    link: Arc<Connection>,
    upstream: Arc<str>,
    tool: Arc<str>,
    /// Input schema as the server sent it. It may map arguments to HTTP headers.
    input_schema: Option<Arc<Value>>,
    result: ResultMode,
    recorder: Option<Arc<SampleRecorder>>,
    parked_calls: Arc<ParkedCalls>,
}

impl UpstreamTool {
    pub(crate) fn new(
        link: Arc<Connection>,
        upstream: &str,
        tool: &ToolAdmission,
        recorder: Option<Arc<SampleRecorder>>,
    ) -> Self {
        Self {
            link,
            upstream: upstream.into(),
            tool: tool.name.as_str().into(),
            input_schema: tool.upstream.get("inputSchema").cloned().map(Arc::new),
            result: tool.result,
            recorder,
            parked_calls: Arc::default(),
        }
    }

    /// Returns the server's own name of the tool.
    pub(crate) fn tool_name(&self) -> &str {
        &self.tool
    }

    /// Converts an answer to the pipeline's output, and records it as a sample.
    fn build_output(
        &self,
        arguments: &Map<String, Value>,
        answer: UpstreamResponse,
    ) -> Result<ToolOutput, CallInterruption> {
        let UpstreamResponse { raw, content, structured, is_error, is_typed } = answer;
        let raw = RawResult {
            text: raw.get().into(),
            has_type: is_typed,
            has_content: content.is_some(),
            has_structured: structured.is_some(),
        };
        let content = content.unwrap_or_default();
        if let Some(recorder) = self.recorder.as_ref().filter(|_| !is_error) {
            let sample = CallSample {
                input: Value::Object(arguments.clone()),
                answer: to_sample_answer(structured.as_ref(), &content),
            };
            recorder.record(&self.upstream, &self.tool, sample);
        }
        let structured = match structured {
            Some(structured) => Some(structured),
            // Without a result mode from an overlay, the pipeline reports the missing content.
            None if is_error || self.result == ResultMode::Structured => None,
            None => match structure_answer(self.result, &content, None) {
                Ok(structured) => Some(structured),
                Err(reason) => return Err(self.withhold_answer(&reason, Some(raw.text))),
            },
        };
        let content = content.into_iter().map(ContentBlock::Block).collect();
        Ok(ToolOutput { structured, content, is_error, raw: Some(raw), has_derived_text: false })
    }

    /// Returns the error for a withheld answer. `raw` is kept for people.
    fn withhold_answer(&self, reason: &str, raw: Option<Arc<str>>) -> CallInterruption {
        let (tool, upstream) = (&self.tool, &self.upstream);
        let message = format!("the answer of `{tool}` of {upstream} is withheld: {reason}");
        // The pipeline adds the catalog name of the tool.
        let error = ToolError::new(ErrorCode::ContractViolation, message)
            .with_detail("upstream", &**upstream)
            .with_detail("violation", reason);
        CallInterruption::InvalidAnswer { error, raw }
    }

    fn convert_failure(&self, failed: CallFailure) -> CallInterruption {
        let CallFailure { error, raw } = failed;
        let upstream = &self.upstream;
        match error {
            ConnectionError::TooLarge { size, limit } => ToolError::new(
                ErrorCode::TooLarge,
                format!("the answer of {upstream} is over {limit} bytes; request less data"),
            )
            .with_detail("limit", limit)
            .with_detail("size", size)
            .with_detail("mayHaveRun", true)
            .into(),
            ConnectionError::TooDeep { .. } | ConnectionError::ProtocolViolation { .. } | ConnectionError::InexactNumber { .. } => {
                self.withhold_answer(&error.to_string(), raw.map(|raw| raw.get().into()))
            }
            // The server answered this call with a JSON-RPC error.
            ConnectionError::Rejected { code, message } => ToolError::new(
                ErrorCode::ToolFailed,
                format!("{upstream} rejected the call of `{}`: {message}", self.tool),
            )
            .with_detail("upstream", &**upstream)
            .with_detail("code", code)
            .into(),
            ConnectionError::Unavailable { ref reason, may_have_run } => ToolError::new(
                ErrorCode::UpstreamUnavailable,
                if may_have_run {
                    format!(
                        "lost the connection to {upstream} during the call, which may have run: {reason}"
                    )
                } else {
                    format!("failed to reach {upstream}: {reason}")
                },
            )
            .with_detail("upstream", &**upstream)
            .with_detail("mayHaveRun", may_have_run)
            .into(),
            error => ToolError::new(ErrorCode::UpstreamUnavailable, format!("{upstream}: {error}"))
                .with_detail("upstream", &**upstream)
                .into(),
        }
    }
}

#[async_trait]
impl Invoker for UpstreamTool {
    fn origin(&self) -> AnswerOrigin {
        AnswerOrigin::Upstream
    }

    async fn invoke(
        &self,
        arguments: Value,
        broker: &ElicitationBroker,
        ctx: &CallContext,
    ) -> Result<ToolOutput, CallInterruption> {
        let Value::Object(arguments) = arguments else {
            // Unreachable: the pipeline validates arguments, and every input schema describes an object.
            return Err(self.withhold_answer("the arguments are not an object", None));
        };
        let arguments = Arc::new(arguments);
        let mut resume = relay::read_continuation(broker);
        for _ in 0..MAX_ROUNDS {
            let turn = if self.can_be_parked(broker) {
                let running = match self.parked_calls.resume_call(broker)? {
                    Some(running) => running,
                    None => self.start_call(&arguments, broker, ctx, resume.take()),
                };
                self.parked_calls.wait_or_park(running, broker).await?
            } else {
                let asker = Arc::new(relay::ConnectedRelay(broker.clone()));
                let call = self.build_call(&arguments, broker, ctx, resume.take(), asker);
                self.link.call_with_raw_failure(call).await
            };
            match turn.map_err(|error| self.convert_failure(error))? {
                CallOutcome::Complete(answer) => return self.build_output(&arguments, answer),
                CallOutcome::InputRequired { requests, state } => {
                    resume = Some(relay::ask_client(broker, requests, state).await?);
                }
            }
        }
        let message = format!("{} still requests input after {MAX_ROUNDS} rounds", self.upstream);
        Err(ToolError::new(ErrorCode::UpstreamUnavailable, message).into())
    }
}

impl UpstreamTool {
    /// Returns true if the call may have to be parked: the server may send requests during its call (handshake
    /// revisions), and the client answers them in another request (stateless revision).
    fn can_be_parked(&self, broker: &ElicitationBroker) -> bool {
        broker.is_multi_round()
            && broker.capabilities() != runtime::ClientCapabilities::default()
            && self.link.era() != Some(ProtocolEra::Stateless)
    }

    fn build_call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        broker: &ElicitationBroker,
        ctx: &'a CallContext,
        resume: Option<CallContinuation>,
        asker: Arc<dyn ElicitationResponder>,
    ) -> UpstreamCall<'a> {
        let sink = ctx.wants_progress().then(|| {
            let ctx = ctx.clone();
            let sink: ProgressSink = Arc::new(move |progress| ctx.report_progress(progress));
            sink
        });
        UpstreamCall {
            input_schema: self.input_schema.as_deref(),
            traceparent: ctx.traceparent.as_deref(),
            progress: sink,
            capabilities: relay::client_capabilities(broker),
            responder: Some(asker),
            resume,
            ..UpstreamCall::new(&self.tool, arguments)
        }
    }

    /// Starts the call in its own task, because it may outlive this round.
    fn start_call(
        &self,
        arguments: &Arc<Map<String, Value>>,
        broker: &ElicitationBroker,
        ctx: &CallContext,
        resume: Option<CallContinuation>,
    ) -> RunningCall {
        let (tool, arguments) = (self.clone(), Arc::clone(arguments));
        let (broker, ctx) = (broker.clone(), ctx.clone());
        RunningCall::start(async move |queue| {
            let call = tool.build_call(&arguments, &broker, &ctx, resume, queue);
            tool.link.call_with_raw_failure(call).await
        })
    }
}

fn to_sample_answer(structured: Option<&Value>, content: &[Value]) -> Learned {
    match structured {
        Some(structured) => Learned::Structured(structured.clone()),
        None => {
            let texts = content.iter().filter(|block| block["type"] == "text");
            let texts = texts.filter_map(|block| block["text"].as_str());
            Learned::Text(texts.map(str::to_owned).collect())
        }
    }
}
