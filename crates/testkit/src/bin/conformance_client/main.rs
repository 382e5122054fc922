//! The client that the official MCP conformance suite runs. It uses the product's crate `link` and lints the listed tools.
//!
//! The suite passes the URL of a scenario's server as the last argument and the scenario's name in
//! `MCP_CONFORMANCE_SCENARIO`. The connection detects the protocol era by itself, as with any server.

#![expect(clippy::print_stderr, reason = "a test program logs to stderr")]

mod elicitation;

use std::error::Error;
use std::sync::Arc;

use contract::ToolDefinition;
use link::{
    CallContinuation, CallOutcome, CallerCapabilities, Connection, HttpEndpoint, Options,
    UpstreamCall, UpstreamEndpoint, UpstreamResponse,
};
use lint::lint_definition;
use serde_json::{Map, Value, json};

use elicitation::{DefaultFormResponder, accept_requests};

/// Maximum elicitation rounds per call; more than any scenario needs.
const MAX_ROUNDS: usize = 5;

type ClientResult<T> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> ClientResult<()> {
    let url = std::env::args().next_back().ok_or("the URL is missing")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO")?;
    let endpoint = HttpEndpoint { url, headers: Default::default() };
    let link = Connection::new(Options::new("conformance", UpstreamEndpoint::Http(endpoint)));
    let client = ConformanceClient::new(link).await?;
    client.run_scenario(&scenario).await?;
    client.link.close().await;
    Ok(())
}

/// A connected client with the tools that it may call.
struct ConformanceClient {
    link: Arc<Connection>,
    /// The listed tools, without those that a client must drop.
    tools: Vec<Value>,
}

impl ConformanceClient {
    async fn new(link: Arc<Connection>) -> ClientResult<Self> {
        let server = link.connect().await?;
        eprintln!("connected: {server:?}");
        let mut tools = Vec::new();
        for tool in link.list_tools().await? {
            // Lint as a gateway would: a schema must never cause a network request.
            let definition: ToolDefinition = serde_json::from_value(tool.clone())?;
            let findings = lint_definition(&definition).len();
            let defect = link::find_header_defect(&tool["inputSchema"]);
            eprintln!("tool {}: {findings} findings, dropped: {defect:?}", tool["name"]);
            if defect.is_none() {
                tools.push(tool);
            }
        }
        Ok(Self { link, tools })
    }

    async fn run_scenario(&self, scenario: &str) -> ClientResult<()> {
        match scenario {
            // These only check the connection and the list of tools.
            "initialize" | "request-metadata" | "json-schema-ref-no-deref" => {}
            "tools_call" => drop(self.call_tool("add_numbers", json!({"a": 5, "b": 3})).await?),
            "elicitation-sep1034-client-defaults"
            | "sse-retry"
            | "http-standard-headers"
            | "http-invalid-tool-headers" => self.call_all_tools().await?,
            "sep-2322-client-request-state" => self.check_request_state().await?,
            "http-custom-headers" => {
                let context: Value =
                    serde_json::from_str(&std::env::var("MCP_CONFORMANCE_CONTEXT")?)?;
                for call in context["toolCalls"].as_array().into_iter().flatten() {
                    let tool = call["name"].as_str().ok_or("tool call without a name")?;
                    self.call_tool(tool, call["arguments"].clone()).await?;
                }
            }
            "json-schema-2020-12-preservation" => {
                let schema = &self.find_tool("json_schema_2020_12_tool")?["inputSchema"];
                self.call_tool("json_schema_echo", json!({"schema": schema})).await?;
            }
            _ => return Err(format!("unknown scenario \"{scenario}\"").into()),
        }
        Ok(())
    }

    fn find_tool(&self, name: &str) -> ClientResult<&Value> {
        let found = self.tools.iter().find(|tool| tool["name"] == name);
        found.ok_or_else(|| format!("unknown tool \"{name}\"").into())
    }

    /// Calls every tool, with a placeholder text for each required argument.
    async fn call_all_tools(&self) -> ClientResult<()> {
        for tool in &self.tools {
            let name = tool["name"].as_str().ok_or("tool without a name")?;
            let required = tool["inputSchema"]["required"].as_array().into_iter().flatten();
            let arguments: Map<String, Value> = required
                .filter_map(Value::as_str)
                .map(|name| (name.to_owned(), json!("text")))
                .collect();
            self.call_tool(name, Value::Object(arguments)).await?;
        }
        Ok(())
    }

    /// Calls a tool that needs responses, with an unrelated call between its rounds.
    async fn check_request_state(&self) -> ClientResult<()> {
        let none = Map::new();
        let CallOutcome::InputRequired { requests, state } =
            self.start_turn("test_mrtr_echo_state", &none, None).await?
        else {
            return Err("the tool requested no input".into());
        };
        self.call_tool("test_mrtr_unrelated", json!({})).await?;
        let resume = CallContinuation { state, answers: accept_requests(&requests) };
        let CallOutcome::Complete(_) =
            self.start_turn("test_mrtr_echo_state", &none, Some(resume)).await?
        else {
            return Err("the tool requested input again".into());
        };
        self.call_tool("test_mrtr_no_state", json!({})).await?;
        self.call_tool("test_mrtr_no_result_type", json!({})).await?;
        Ok(())
    }

    /// Calls a tool, accepts every elicitation and returns the answer.
    async fn call_tool(&self, tool: &str, arguments: Value) -> ClientResult<UpstreamResponse> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let mut resume = None;
        for _ in 0..MAX_ROUNDS {
            match self.start_turn(tool, &arguments, resume.take()).await? {
                CallOutcome::Complete(answer) => {
                    eprintln!("{tool} answered {}", answer.raw);
                    return Ok(answer);
                }
                CallOutcome::InputRequired { requests, state } => {
                    resume = Some(CallContinuation { state, answers: accept_requests(&requests) });
                }
            }
        }
        Err(format!("the tool {tool} requested input in more than {MAX_ROUNDS} rounds").into())
    }

    async fn start_turn(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        resume: Option<CallContinuation>,
    ) -> ClientResult<CallOutcome> {
        let definition = self.find_tool(tool)?;
        let call = UpstreamCall {
            input_schema: definition.get("inputSchema"),
            capabilities: CallerCapabilities { elicitation: true, ..CallerCapabilities::default() },
            responder: Some(Arc::new(DefaultFormResponder)),
            resume,
            ..UpstreamCall::new(tool, arguments)
        };
        Ok(self.link.call(call).await?)
    }
}
