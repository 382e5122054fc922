//! `hello`: proves that a client is connected, and changes nothing.

use std::sync::Arc;
use std::time::Duration;

use contract::{
    CallContext, Constraints, Contract, ContractError, Definition, Example, Output, Tool,
    ToolError, parse, schema_of, to_output,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use contract::time;

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Name to greet
    #[serde(default = "world")]
    name: String,
}

fn world() -> String {
    "World".into()
}

#[derive(Serialize, JsonSchema)]
struct Greeting {
    /// Greeting message
    message: String,
    /// Server timestamp
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
}

pub(crate) struct Hello {
    contract: Arc<Contract>,
}

impl Hello {
    pub(crate) fn new() -> Result<Self, ContractError> {
        let definition = Definition {
            name: "hello".into(),
            title: Some("Say hello".into()),
            description: Some(
                "Returns a greeting message and the server's time. Use it to test the connection: \
                 it touches nothing and always succeeds."
                    .into(),
            ),
            input_schema: Some(schema_of::<Input>()),
            output_schema: Some(schema_of::<Greeting>()),
            constraints: Some(Constraints {
                access: "public".into(),
                rate_per_minute: 100,
                timeout: Duration::from_secs(1),
                rules: vec!["Always succeeds.".into()],
                ..Constraints::default()
            }),
            examples: vec![
                Example {
                    title: Some("greet by name".into()),
                    input: json!({"name": "Learner"}),
                    output: Some(
                        json!({"message": "Hello, Learner!", "timestamp": "2026-01-15T10:30:00Z"}),
                    ),
                },
                Example {
                    title: Some("greet without a name".into()),
                    input: json!({}),
                    output: Some(
                        json!({"message": "Hello, World!", "timestamp": "2026-01-15T10:30:00Z"}),
                    ),
                },
            ],
            ..Definition::default()
        };
        Ok(Self { contract: Arc::new(Contract::new(definition, &[])?) })
    }
}

impl Tool for Hello {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn call(&self, arguments: Value, _: &CallContext) -> Result<Output, ToolError> {
        let Input { name } = parse(arguments)?;
        to_output(&Greeting { message: format!("Hello, {name}!"), timestamp: time::now() })
    }

    fn call_now(&self, arguments: &Value, ctx: &CallContext) -> Option<Result<Output, ToolError>> {
        Some(self.call(arguments.clone(), ctx))
    }
}
