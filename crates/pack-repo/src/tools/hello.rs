//! `hello`: shows that a client is connected, and changes nothing.

use std::sync::Arc;
use std::time::Duration;

use contract::{
    CallContext, Constraints, Contract, ContractError, Tool, ToolDefinition, ToolError,
    ToolExample, ToolOutput, derive_schema, parse_arguments, to_output,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use contract::time;

#[derive(Deserialize, JsonSchema)]
struct HelloInput {
    /// Name to greet
    #[serde(default = "default_name")]
    name: String,
}

fn default_name() -> String {
    "World".into()
}

#[derive(Serialize, JsonSchema)]
struct HelloOutput {
    /// Greeting message
    message: String,
    /// Server timestamp
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
}

pub(crate) struct HelloTool {
    contract: Arc<Contract>,
}

impl HelloTool {
    pub(crate) fn new() -> Result<Self, ContractError> {
        let definition = ToolDefinition {
            name: "hello".into(),
            title: Some("Say hello".into()),
            description: Some(
                "Returns a greeting and the server's time. Use it to test the connection: \
                 it has no side effects and always succeeds."
                    .into(),
            ),
            input_schema: Some(derive_schema::<HelloInput>()),
            output_schema: Some(derive_schema::<HelloOutput>()),
            constraints: Some(Constraints {
                access: "public".into(),
                rate_per_minute: 100,
                timeout: Duration::from_secs(1),
                rules: vec!["Always succeeds.".into()],
                ..Constraints::default()
            }),
            examples: vec![
                ToolExample {
                    title: Some("greet by name".into()),
                    input: json!({"name": "Learner"}),
                    output: Some(
                        json!({"message": "Hello, Learner!", "timestamp": "2026-01-15T10:30:00Z"}),
                    ),
                },
                ToolExample {
                    title: Some("greet without a name".into()),
                    input: json!({}),
                    output: Some(
                        json!({"message": "Hello, World!", "timestamp": "2026-01-15T10:30:00Z"}),
                    ),
                },
            ],
            ..ToolDefinition::default()
        };
        Ok(Self { contract: Arc::new(Contract::new(definition, &[])?) })
    }
}

impl Tool for HelloTool {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn call(&self, arguments: Value, _: &CallContext) -> Result<ToolOutput, ToolError> {
        let HelloInput { name } = parse_arguments(arguments)?;
        to_output(&HelloOutput {
            message: format!("Hello, {name}!"),
            timestamp: time::now_rfc3339(),
        })
    }

    fn call_now(
        &self,
        arguments: &Value,
        ctx: &CallContext,
    ) -> Option<Result<ToolOutput, ToolError>> {
        Some(self.call(arguments.clone(), ctx))
    }
}
