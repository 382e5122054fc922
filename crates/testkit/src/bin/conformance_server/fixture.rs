//! A tool of the suite: what it is called and how it behaves.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::{
    CallContext, Code, Constraints, Content, Contract, ContractError, Definition, Output, Progress,
    ToolError,
};
use runtime::{Abilities, Answers, Inquiry, Invoker, Question, Stop};
use serde_json::{Value, json};

/// The pause between steps that the suite asks for.
const STEP: Duration = Duration::from_millis(50);

/// The questions of each round, from the arguments and what the client can answer.
pub(crate) type Rounds = Box<dyn Fn(&Value, Abilities) -> Vec<Vec<Question>> + Send + Sync>;

pub(crate) enum Behaviour {
    Says(Vec<Content>),
    Fails(&'static str),
    /// Reports 0, 50 and 100 of 100.
    Progresses,
    Waits(Duration),
    /// Asks round after round, then says the closing words and the answers.
    Asks {
        rounds: Rounds,
        closing: &'static str,
    },
}

pub(crate) struct Fixture {
    name: &'static str,
    description: &'static str,
    input: Value,
    behaviour: Behaviour,
}

impl Fixture {
    pub(crate) fn new(name: &'static str, description: &'static str, behaviour: Behaviour) -> Self {
        let input = json!({"type": "object", "properties": {}});
        Self { name, description, input, behaviour }
    }

    pub(crate) fn with_input(self, input: Value) -> Self {
        Self { input, ..self }
    }

    pub(crate) fn into_entry(self) -> Result<(Arc<Contract>, Arc<dyn Invoker>), ContractError> {
        // The suite calls faster than any person would; limits are tested elsewhere.
        let constraints = Constraints {
            rate_per_minute: 1_000_000,
            timeout: Duration::from_secs(10),
            ..Constraints::default()
        };
        let definition = Definition {
            name: self.name.into(),
            description: Some(self.description.into()),
            input_schema: Some(self.input),
            constraints: Some(constraints),
            ..Definition::default()
        };
        Ok((Arc::new(Contract::new(definition, &[])?), Arc::new(self.behaviour)))
    }
}

#[async_trait]
impl Invoker for Behaviour {
    async fn invoke(
        &self,
        arguments: Value,
        inquiry: &Inquiry,
        ctx: &CallContext,
    ) -> Result<Output, Stop> {
        match self {
            Self::Says(content) => Ok(Output { content: content.clone(), ..Output::default() }),
            Self::Fails(message) => Err(ToolError::new(Code::NotFound, *message).into()),
            Self::Progresses => {
                for done in [0.0, 50.0, 100.0] {
                    ctx.report(Progress { done, total: Some(100.0), message: None });
                    tokio::time::sleep(STEP).await;
                }
                Ok(Output::text("done"))
            }
            Self::Waits(time) => {
                tokio::time::sleep(*time).await;
                Ok(Output::text("waited"))
            }
            Self::Asks { rounds, closing } => {
                let mut answers = Answers::new();
                for questions in rounds(&arguments, inquiry.abilities()) {
                    answers.extend(inquiry.ask(questions).await?);
                }
                Ok(Output::text(format!("{closing}: {}", json!(answers))))
            }
        }
    }
}
