//! A tool of an upstream server as the pipeline runs it: the call goes out, the answer comes back whole.
//!
//! What is checked here is only what the pipeline cannot see: whether there was an answer at all. Its contract is checked
//! by the pipeline, like that of every other tool.

use std::sync::Arc;

use admit::learn::{Answer as Learned, Sample};
use admit::{Judged, ResultMode, structure};
use async_trait::async_trait;
use contract::{CallContext, Code, Content, Output, Raw, ToolError};
use link::{Answer, Asker, Call, Era, Failed, Link, LinkError, ProgressSink, Resume, Turn};
use runtime::{Inquiry, Invoker, Origin, Stop};
use serde_json::{Map, Value};

use crate::parking::{Lot, Running};
use crate::relay;
use crate::samples::Recorder;

/// Rounds of questions in one call; more is a server that never has enough.
const MAX_ROUNDS: usize = 16;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct UpstreamTool {
    link: Arc<Link>,
    upstream: Arc<str>,
    tool: Arc<str>,
    /// As the server gave it: it may say which arguments go into headers.
    input_schema: Option<Arc<Value>>,
    result: ResultMode,
    recorder: Option<Arc<Recorder>>,
    lot: Arc<Lot>,
}

impl UpstreamTool {
    pub(crate) fn new(
        link: Arc<Link>,
        upstream: &str,
        tool: &Judged,
        recorder: Option<Arc<Recorder>>,
    ) -> Self {
        Self {
            link,
            upstream: upstream.into(),
            tool: tool.name.as_str().into(),
            input_schema: tool.upstream.get("inputSchema").cloned().map(Arc::new),
            result: tool.result,
            recorder,
            lot: Arc::default(),
        }
    }

    /// The server's own name of it.
    pub(crate) fn tool(&self) -> &str {
        &self.tool
    }

    fn output(&self, arguments: &Map<String, Value>, answer: Answer) -> Result<Output, Stop> {
        let Answer { raw, content, structured, is_error, is_typed } = answer;
        let raw = Raw {
            text: raw.get().into(),
            has_type: is_typed,
            has_content: content.is_some(),
            has_structured: structured.is_some(),
        };
        let content = content.unwrap_or_default();
        if let Some(recorder) = self.recorder.as_ref().filter(|_| !is_error) {
            let sample = Sample {
                input: Value::Object(arguments.clone()),
                answer: learned(structured.as_ref(), &content),
            };
            recorder.record(&self.upstream, &self.tool, sample);
        }
        let structured = match structured {
            Some(structured) => Some(structured),
            // Without an overlay that says how, what is missing is missing: the pipeline says so.
            None if is_error || self.result == ResultMode::Structured => None,
            None => match structure(self.result, &content, None) {
                Ok(structured) => Some(structured),
                Err(reason) => return Err(self.broken(&reason, Some(raw.text))),
            },
        };
        let content = content.into_iter().map(Content::Block).collect();
        Ok(Output { structured, content, is_error, raw: Some(raw) })
    }

    fn broken(&self, reason: &str, raw: Option<Arc<str>>) -> Stop {
        let (tool, upstream) = (&self.tool, &self.upstream);
        let message = format!("the answer of `{tool}` of {upstream} is withheld: {reason}");
        // The name by which the caller knows the tool is added where it is known.
        let error = ToolError::new(Code::ContractViolation, message)
            .with("upstream", &**upstream)
            .with("violation", reason);
        Stop::Broken { error, raw }
    }

    fn failed(&self, failed: Failed) -> Stop {
        let Failed { error, raw } = failed;
        let upstream = &self.upstream;
        match error {
            LinkError::TooLarge { size, limit } => ToolError::new(
                Code::TooLarge,
                format!("the answer of {upstream} has over {limit} bytes; ask for less"),
            )
            .with("limit", limit)
            .with("size", size)
            .with("mayHaveRun", true)
            .into(),
            LinkError::TooDeep { .. } | LinkError::Malformed { .. } | LinkError::Inexact { .. } => {
                self.broken(&error.to_string(), raw.map(|raw| raw.get().into()))
            }
            // The server's own word on this call, in the protocol's form for it.
            LinkError::Rejected { code, message } => ToolError::new(
                Code::ToolFailed,
                format!("{upstream} refused the call of `{}`: {message}", self.tool),
            )
            .with("upstream", &**upstream)
            .with("code", code)
            .into(),
            LinkError::Unavailable { ref reason, may_have_run } => ToolError::new(
                Code::UpstreamUnavailable,
                if may_have_run {
                    format!("{upstream} went away during the call, which may have run: {reason}")
                } else {
                    format!("{upstream} cannot be reached: {reason}")
                },
            )
            .with("upstream", &**upstream)
            .with("mayHaveRun", may_have_run)
            .into(),
            error => ToolError::new(Code::UpstreamUnavailable, format!("{upstream}: {error}"))
                .with("upstream", &**upstream)
                .into(),
        }
    }
}

#[async_trait]
impl Invoker for UpstreamTool {
    fn origin(&self) -> Origin {
        Origin::Upstream
    }

    async fn invoke(
        &self,
        arguments: Value,
        inquiry: &Inquiry,
        ctx: &CallContext,
    ) -> Result<Output, Stop> {
        let Value::Object(arguments) = arguments else {
            // The pipeline hands in what was validated, and every input schema here describes an object.
            return Err(self.broken("the arguments are no object", None));
        };
        let arguments = Arc::new(arguments);
        let mut resume = relay::resumed(inquiry);
        for _ in 0..MAX_ROUNDS {
            let turn = if self.may_be_parked(inquiry) {
                let running = match self.lot.resume(inquiry)? {
                    Some(running) => running,
                    None => self.start(&arguments, inquiry, ctx, resume.take()),
                };
                self.lot.wait(running, inquiry).await?
            } else {
                let asker = Arc::new(relay::Connected(inquiry.clone()));
                let call = self.call(&arguments, inquiry, ctx, resume.take(), asker);
                self.link.call_keeping(call).await
            };
            match turn.map_err(|error| self.failed(error))? {
                Turn::Answer(answer) => return self.output(&arguments, answer),
                Turn::Ask { requests, state } => {
                    resume = Some(relay::ask(inquiry, requests, state).await?);
                }
            }
        }
        let message = format!("{} asks for more after {MAX_ROUNDS} rounds", self.upstream);
        Err(ToolError::new(Code::UpstreamUnavailable, message).into())
    }
}

impl UpstreamTool {
    /// Only a server of the handshake revisions asks in the middle of its call, and only a client of the later one has to
    /// be answered first.
    fn may_be_parked(&self, inquiry: &Inquiry) -> bool {
        inquiry.comes_in_rounds()
            && inquiry.abilities() != runtime::Abilities::default()
            && self.link.era() != Some(Era::Stateless)
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        inquiry: &Inquiry,
        ctx: &'a CallContext,
        resume: Option<Resume>,
        asker: Arc<dyn Asker>,
    ) -> Call<'a> {
        let sink = ctx.wants_progress().then(|| {
            let ctx = ctx.clone();
            let sink: ProgressSink = Arc::new(move |progress| ctx.report(progress));
            sink
        });
        Call {
            input_schema: self.input_schema.as_deref(),
            traceparent: ctx.traceparent.as_deref(),
            progress: sink,
            abilities: relay::abilities(inquiry),
            asker: Some(asker),
            resume,
            ..Call::new(&self.tool, arguments)
        }
    }

    /// The call in a task of its own, because it may outlive this round.
    fn start(
        &self,
        arguments: &Arc<Map<String, Value>>,
        inquiry: &Inquiry,
        ctx: &CallContext,
        resume: Option<Resume>,
    ) -> Running {
        let (tool, arguments) = (self.clone(), Arc::clone(arguments));
        let (inquiry, ctx) = (inquiry.clone(), ctx.clone());
        Running::start(async move |queue| {
            let call = tool.call(&arguments, &inquiry, &ctx, resume, queue);
            tool.link.call_keeping(call).await
        })
    }
}

fn learned(structured: Option<&Value>, content: &[Value]) -> Learned {
    match structured {
        Some(structured) => Learned::Structured(structured.clone()),
        None => {
            let texts = content.iter().filter(|block| block["type"] == "text");
            let texts = texts.filter_map(|block| block["text"].as_str());
            Learned::Text(texts.map(str::to_owned).collect())
        }
    }
}
