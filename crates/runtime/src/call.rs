//! The pipeline's input and output types, shared by transports and invokers.
//!
//! [`ToolCall`] goes in and [`ToolReply`] comes out. [`ElicitationChannel`] says how the user behind a call can be
//! reached.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use contract::{Caller, ErrorCode, Progress, ToolError, ToolOutput};
use serde_json::{Map, Value};
use store::Approver;
use tokio_util::sync::CancellationToken;

use crate::pipeline::json_size;
use crate::resource_catalog::READ_RESOURCE;

/// The target of a call. A name sent by a caller always refers to a tool, never to a resource read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallSubject {
    Tool(String),
    /// The read of a resource; the argument `uri` holds its address.
    Resource,
}

impl CallSubject {
    /// Returns the name used in logs and metrics.
    pub fn name(&self) -> &str {
        match self {
            Self::Tool(name) => name,
            Self::Resource => READ_RESOURCE,
        }
    }
}

/// The side from which a call comes. It decides whether the caller's client may be asked for the approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallOrigin {
    /// A client that the user runs: over stdio, or at the terminal.
    Local,
    /// Any program that has a token. It may declare that it can ask a user, and answer itself.
    #[default]
    Network,
}

/// One call, as a transport submits it.
pub struct ToolCall {
    pub subject: CallSubject,
    pub arguments: Map<String, Value>,
    pub caller: Caller,
    pub origin: CallOrigin,
    pub channel: ElicitationChannel,
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    pub cancel: CancellationToken,
    /// W3C trace context of the caller, if it sent one.
    pub traceparent: Option<String>,
}

impl ToolCall {
    /// Creates a call of a tool whose user cannot be reached.
    pub fn new(tool: impl Into<String>, arguments: Map<String, Value>, caller: Caller) -> Self {
        Self::with_subject(CallSubject::Tool(tool.into()), arguments, caller)
    }

    /// Creates a call that reads a resource.
    pub fn for_resource(uri: String, caller: Caller) -> Self {
        let arguments = Map::from_iter([("uri".to_owned(), Value::String(uri))]);
        Self::with_subject(CallSubject::Resource, arguments, caller)
    }

    fn with_subject(subject: CallSubject, arguments: Map<String, Value>, caller: Caller) -> Self {
        Self {
            subject,
            arguments,
            caller,
            origin: CallOrigin::default(),
            channel: ElicitationChannel::Unavailable,
            progress: None,
            cancel: CancellationToken::new(),
            traceparent: None,
        }
    }
}

/// The reply to a call.
#[derive(Debug)]
pub enum ToolReply {
    Done(ToolOutput),
    Failed(ToolError),
    /// Input is required first; the caller repeats the call with the answers and this state.
    InputRequired {
        elicitations: Vec<ElicitationRequest>,
        state: String,
    },
    /// The request itself violates the protocol.
    Refused(ProtocolRefusal),
}

/// A request that is rejected by the protocol, not by the tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtocolRefusal {
    /// The request state was forged, altered, expired, used before, or belongs to another call.
    InvalidState(String),
    /// The call needs a capability that the client did not declare.
    MissingCapability(&'static str),
}

impl ToolReply {
    /// Returns the error code for logs and metrics, or `None` unless the call failed or was refused.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Done(output) if output.is_error => Some(ErrorCode::ToolFailed),
            Self::Done(_) | Self::InputRequired { .. } => None,
            Self::Failed(error) => Some(error.code),
            Self::Refused(_) => Some(ErrorCode::InvalidInput),
        }
    }
}

/// The reason a stage does not complete.
#[derive(Debug)]
pub enum CallInterruption {
    Fail(ToolError),
    /// The answer is malformed or breaks a rule of its invoker. It is withheld from the caller; the raw text is kept
    /// for people.
    InvalidAnswer {
        error: ToolError,
        raw: Option<Arc<str>>,
    },
    /// Answers are needed first. A later round brings them, together with the carried state.
    Elicit {
        elicitations: Vec<ElicitationRequest>,
        carry: Option<Value>,
    },
    Refuse(ProtocolRefusal),
}

impl From<ToolError> for CallInterruption {
    fn from(error: ToolError) -> Self {
        Self::Fail(error)
    }
}

/// Answers by elicitation key, each the client's unmodified result object.
pub type ElicitationAnswers = BTreeMap<String, Value>;

/// A request for input from the user, or from the client, behind a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ElicitationRequest {
    pub key: String,
    pub kind: ElicitationKind,
}

/// The kind of input that is requested, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationKind {
    /// A form for the user: a message and a flat object schema.
    Form { message: String, schema: Value },
    /// `elicitation/create` parameters of an upstream server, forwarded unmodified: a form, or a URL for the user to
    /// visit.
    RawElicitation(Value),
    /// A completion by the client's model (`sampling/createMessage` parameters).
    Sampling(Value),
    /// The client's root folders.
    Roots,
}

impl ElicitationRequest {
    /// Creates a form elicitation.
    pub fn new_form(key: impl Into<String>, message: impl Into<String>, schema: Value) -> Self {
        Self { key: key.into(), kind: ElicitationKind::Form { message: message.into(), schema } }
    }

    /// Returns the approximate size in bytes.
    pub(crate) fn byte_size(&self) -> usize {
        let body = match &self.kind {
            ElicitationKind::Form { message, schema } => message.len() + json_size(schema),
            ElicitationKind::RawElicitation(params) | ElicitationKind::Sampling(params) => {
                json_size(params)
            }
            ElicitationKind::Roots => 0,
        };
        self.key.len() + body
    }

    /// Returns the client capability that answering requires.
    fn required_capability(&self) -> RequiredCapability {
        match &self.kind {
            ElicitationKind::RawElicitation(params) if params["mode"] == "url" => {
                RequiredCapability::ElicitationUrl
            }
            ElicitationKind::Form { .. } | ElicitationKind::RawElicitation(_) => {
                RequiredCapability::Elicitation
            }
            ElicitationKind::Sampling(_) => RequiredCapability::Sampling,
            ElicitationKind::Roots => RequiredCapability::Roots,
        }
    }
}

enum RequiredCapability {
    Elicitation,
    ElicitationUrl,
    Sampling,
    Roots,
}

/// The kinds of elicitation that the client declared it can answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// Form elicitation.
    pub elicitation: bool,
    /// URL elicitation.
    pub elicitation_url: bool,
    pub sampling: bool,
    pub roots: bool,
}

impl ElicitationRequest {
    /// Returns the protocol's name of the client capability that answering requires.
    pub fn capability_name(&self) -> &'static str {
        match self.required_capability() {
            RequiredCapability::Elicitation => "elicitation",
            RequiredCapability::ElicitationUrl => "elicitation.url",
            RequiredCapability::Sampling => "sampling",
            RequiredCapability::Roots => "roots",
        }
    }
}

impl ClientCapabilities {
    /// Returns true if the client can answer this elicitation.
    pub fn can_answer(self, request: &ElicitationRequest) -> bool {
        match request.required_capability() {
            RequiredCapability::Elicitation => self.elicitation,
            RequiredCapability::ElicitationUrl => self.elicitation_url,
            RequiredCapability::Sampling => self.sampling,
            RequiredCapability::Roots => self.roots,
        }
    }
}

/// The way to reach the user behind a call.
#[derive(Clone)]
pub enum ElicitationChannel {
    /// No way: REST, scripts, clients without elicitation support.
    Unavailable,
    /// Over the open connection, while the call waits.
    Connected { capabilities: ClientCapabilities, handler: Arc<dyn ElicitationHandler> },
    /// Through a later round of the same call, which brings the answers.
    MultiRound(RoundInput),
}

/// The input of one round of a multi-round call.
#[derive(Clone, Debug, Default)]
pub struct RoundInput {
    pub capabilities: ClientCapabilities,
    /// The answers sent with this round.
    pub answers: ElicitationAnswers,
    /// The sealed state sent with this round.
    pub state: Option<String>,
}

impl ElicitationChannel {
    /// Returns the declared capabilities; none if there is no channel.
    pub fn capabilities(&self) -> ClientCapabilities {
        match self {
            Self::Unavailable => ClientCapabilities::default(),
            Self::Connected { capabilities: abilities, .. } => *abilities,
            Self::MultiRound(rounds) => rounds.capabilities,
        }
    }
}

/// Sends elicitations to a connected client.
#[async_trait]
pub trait ElicitationHandler: Send + Sync {
    /// Sends one elicitation and returns the client's result object, or the reason there is no answer.
    async fn elicit(&self, request: &ElicitationRequest) -> Result<Value, String>;

    /// Returns the one who answers, or `None` if only the client knows.
    fn approver(&self) -> Option<Approver> {
        None
    }
}
