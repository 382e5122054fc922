//! What goes into the pipeline and what comes out: the words that front doors and invokers share.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use contract::{Caller, Code, Output, Progress, ToolError};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::documents::READ;
use crate::pipeline::json_size;

/// What a call is for. A name that a caller sends can only ever be a tool's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Tool(String),
    /// The read of a resource, whose address is the argument `uri`.
    Resource,
}

impl Subject {
    /// The name in logs and metrics.
    pub fn name(&self) -> &str {
        match self {
            Self::Tool(name) => name,
            Self::Resource => READ,
        }
    }
}

/// One call, as a front door hands it in.
pub struct Call {
    pub subject: Subject,
    pub arguments: Map<String, Value>,
    pub caller: Caller,
    pub person: Person,
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    pub cancel: CancellationToken,
    /// W3C trace context of the caller, if it sent one.
    pub traceparent: Option<String>,
}

impl Call {
    /// A call behind which no person can be reached.
    pub fn new(tool: impl Into<String>, arguments: Map<String, Value>, caller: Caller) -> Self {
        Self::to(Subject::Tool(tool.into()), arguments, caller)
    }

    /// The read of a resource.
    pub fn read(uri: String, caller: Caller) -> Self {
        let arguments = Map::from_iter([("uri".to_owned(), Value::String(uri))]);
        Self::to(Subject::Resource, arguments, caller)
    }

    fn to(subject: Subject, arguments: Map<String, Value>, caller: Caller) -> Self {
        Self {
            subject,
            arguments,
            caller,
            person: Person::Absent,
            progress: None,
            cancel: CancellationToken::new(),
            traceparent: None,
        }
    }
}

/// What the caller gets.
#[derive(Debug)]
pub enum Reply {
    Done(Output),
    Failed(ToolError),
    /// Somebody must answer first; the caller comes again with the answers and this state.
    InputRequired {
        questions: Vec<Question>,
        state: String,
    },
    /// The request itself is not acceptable to the protocol.
    Refused(Refusal),
}

/// A request that the protocol, not the tool, turns away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The request state was forged, altered, expired, used before, or belongs to another call.
    BadState(String),
    /// The call cannot go on without an ability that the client did not declare.
    MissingAbility(&'static str),
}

impl Reply {
    /// The code of a failure, for logs and metrics.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Done(output) if output.is_error => Some(Code::ToolFailed),
            Self::Done(_) | Self::InputRequired { .. } => None,
            Self::Failed(error) => Some(error.code),
            Self::Refused(_) => Some(Code::InvalidInput),
        }
    }
}

/// Why a stage does not go on.
#[derive(Debug)]
pub enum Stop {
    Fail(ToolError),
    /// An answer came that nobody may see, because it is no answer or breaks a rule of the one who fetched it. What came is
    /// kept for people.
    Broken {
        error: ToolError,
        raw: Option<Arc<str>>,
    },
    /// The answers come with a later round, which finds what is carried.
    Ask {
        questions: Vec<Question>,
        carry: Option<Value>,
    },
    Refuse(Refusal),
}

impl From<ToolError> for Stop {
    fn from(error: ToolError) -> Self {
        Self::Fail(error)
    }
}

/// Answers by question key, each the client's result object as it came.
pub type Answers = BTreeMap<String, Value>;

/// Something to ask the person, or the client, behind a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub key: String,
    pub kind: QuestionKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum QuestionKind {
    /// A form for the person: a message and a flat object schema.
    Form { message: String, schema: Value },
    /// The same in the words of somebody else, passed on as they are: `elicitation/create` parameters, of a form or of a
    /// page that the person is to visit.
    Elicitation(Value),
    /// A completion by the client's model (`sampling/createMessage` parameters).
    Sampling(Value),
    /// The client's root folders.
    Roots,
}

impl Question {
    pub fn form(key: impl Into<String>, message: impl Into<String>, schema: Value) -> Self {
        Self { key: key.into(), kind: QuestionKind::Form { message: message.into(), schema } }
    }

    /// Bytes that it takes, roughly.
    pub(crate) fn size(&self) -> usize {
        let body = match &self.kind {
            QuestionKind::Form { message, schema } => message.len() + json_size(schema),
            QuestionKind::Elicitation(params) | QuestionKind::Sampling(params) => json_size(params),
            QuestionKind::Roots => 0,
        };
        self.key.len() + body
    }

    /// What kind of ability answering takes.
    fn needs(&self) -> Ability {
        match &self.kind {
            QuestionKind::Elicitation(params) if params["mode"] == "url" => Ability::ElicitationUrl,
            QuestionKind::Form { .. } | QuestionKind::Elicitation(_) => Ability::Elicitation,
            QuestionKind::Sampling(_) => Ability::Sampling,
            QuestionKind::Roots => Ability::Roots,
        }
    }
}

enum Ability {
    Elicitation,
    ElicitationUrl,
    Sampling,
    Roots,
}

/// Which kinds of question the client declared that it can answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Forms.
    pub elicitation: bool,
    /// Pages to visit.
    pub elicitation_url: bool,
    pub sampling: bool,
    pub roots: bool,
}

impl Question {
    /// The client capability that answering takes, by its name in the protocol.
    pub fn ability(&self) -> &'static str {
        match self.needs() {
            Ability::Elicitation => "elicitation",
            Ability::ElicitationUrl => "elicitation.url",
            Ability::Sampling => "sampling",
            Ability::Roots => "roots",
        }
    }
}

impl Abilities {
    pub fn cover(self, question: &Question) -> bool {
        match question.needs() {
            Ability::Elicitation => self.elicitation,
            Ability::ElicitationUrl => self.elicitation_url,
            Ability::Sampling => self.sampling,
            Ability::Roots => self.roots,
        }
    }
}

/// How the person behind a call can be reached.
#[derive(Clone)]
pub enum Person {
    /// Not at all: REST, scripts, clients that cannot elicit.
    Absent,
    /// Over the open connection, while the call waits.
    Connected { abilities: Abilities, ask: Arc<dyn Ask> },
    /// By a later round of the same call, which brings the answers along.
    Rounds(Rounds),
}

#[derive(Clone, Debug, Default)]
pub struct Rounds {
    pub abilities: Abilities,
    /// What this round brought.
    pub answers: Answers,
    /// The sealed state this round brought.
    pub state: Option<String>,
}

impl Person {
    pub fn abilities(&self) -> Abilities {
        match self {
            Self::Absent => Abilities::default(),
            Self::Connected { abilities, .. } => *abilities,
            Self::Rounds(rounds) => rounds.abilities,
        }
    }
}

/// Puts one question to a connected person and waits for the client's result object.
#[async_trait]
pub trait Ask: Send + Sync {
    async fn ask(&self, question: &Question) -> Result<Value, String>;
}
