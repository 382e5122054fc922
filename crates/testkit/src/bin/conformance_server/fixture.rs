//! A tool that the suite expects: its definition and its behavior.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::{
    CallContext, Constraints, ContentBlock, Contract, ContractError, ErrorCode, Progress,
    ToolDefinition, ToolError, ToolOutput,
};
use runtime::{
    CallInterruption, ClientCapabilities, ElicitationAnswers, ElicitationBroker,
    ElicitationRequest, Invoker,
};
use serde_json::{Value, json};

/// The pause between progress reports that the suite expects.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);

/// Returns the requests of each round, given the arguments and the capabilities of the client.
pub(crate) type InputRounds =
    Box<dyn Fn(&Value, ClientCapabilities) -> Vec<Vec<ElicitationRequest>> + Send + Sync>;

/// The scripted behavior of a tool.
pub(crate) enum FixtureBehavior {
    Respond(Vec<ContentBlock>),
    Fail(&'static str),
    /// Reports 0, 50 and 100 of 100.
    ReportProgress,
    Sleep(Duration),
    /// Sends the requests of each round, then returns the closing text and all responses.
    RequestInput {
        rounds: InputRounds,
        closing: &'static str,
    },
}

/// A tool of the suite: name, description, input schema and behavior.
pub(crate) struct ToolFixture {
    name: &'static str,
    description: &'static str,
    input: Value,
    behavior: FixtureBehavior,
}

impl ToolFixture {
    pub(crate) fn new(
        name: &'static str,
        description: &'static str,
        behavior: FixtureBehavior,
    ) -> Self {
        let input = json!({"type": "object", "properties": {}});
        Self { name, description, input, behavior }
    }

    pub(crate) fn with_input(self, input: Value) -> Self {
        Self { input, ..self }
    }

    pub(crate) fn into_entry(self) -> Result<(Arc<Contract>, Arc<dyn Invoker>), ContractError> {
        // The suite calls tools in quick succession; limits are tested elsewhere.
        let constraints = Constraints {
            rate_per_minute: 1_000_000,
            timeout: Duration::from_secs(10),
            ..Constraints::default()
        };
        let definition = ToolDefinition {
            name: self.name.into(),
            description: Some(self.description.into()),
            input_schema: Some(self.input),
            constraints: Some(constraints),
            ..ToolDefinition::default()
        };
        Ok((Arc::new(Contract::new(definition, &[])?), Arc::new(self.behavior)))
    }
}

#[async_trait]
impl Invoker for FixtureBehavior {
    async fn invoke(
        &self,
        arguments: Value,
        broker: &ElicitationBroker,
        ctx: &CallContext,
    ) -> Result<ToolOutput, CallInterruption> {
        match self {
            Self::Respond(content) => {
                Ok(ToolOutput { content: content.clone(), ..ToolOutput::default() })
            }
            Self::Fail(message) => Err(ToolError::new(ErrorCode::NotFound, *message).into()),
            Self::ReportProgress => {
                for done in [0.0, 50.0, 100.0] {
                    ctx.report_progress(Progress { done, total: Some(100.0), message: None });
                    tokio::time::sleep(PROGRESS_INTERVAL).await;
                }
                Ok(ToolOutput::from_text("done"))
            }
            Self::Sleep(time) => {
                tokio::time::sleep(*time).await;
                Ok(ToolOutput::from_text("waited"))
            }
            Self::RequestInput { rounds, closing } => {
                let mut answers = ElicitationAnswers::new();
                for questions in rounds(&arguments, broker.capabilities()) {
                    answers.extend(broker.elicit(questions).await?);
                }
                Ok(ToolOutput::from_text(format!("{closing}: {}", json!(answers))))
            }
        }
    }
}
