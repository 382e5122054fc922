//! The client that the official MCP conformance suite runs: the product's `link`, and the linter over what it lists.
//!
//! The suite starts it with the URL of a scenario's server as the last argument, and names the scenario in
//! `MCP_CONFORMANCE_SCENARIO`. Which era is spoken is for the link to find out, as it is with any server.

#![expect(clippy::print_stderr, reason = "a test program says on stderr what it did")]

mod asked;

use std::error::Error;
use std::sync::Arc;

use contract::Definition;
use link::{Abilities, Answer, Call, Endpoint, Link, Options, Reach, Resume, Turn};
use lint::lint;
use serde_json::{Map, Value, json};

use asked::{AsItStands, accept};

/// More rounds than any scenario has.
const MAX_ROUNDS: usize = 5;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let url = std::env::args().next_back().ok_or("the URL is missing")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO")?;
    let endpoint = Endpoint { url, headers: Default::default() };
    let link = Link::new(Options::new("conformance", Reach::Http(endpoint)));
    let client = Client::new(link).await?;
    client.play(&scenario).await?;
    client.link.close().await;
    Ok(())
}

struct Client {
    link: Arc<Link>,
    /// What the server lists, without the tools that a client must drop.
    tools: Vec<Value>,
}

impl Client {
    async fn new(link: Arc<Link>) -> Outcome<Self> {
        let server = link.connect().await?;
        eprintln!("connected: {server:?}");
        let mut tools = Vec::new();
        for tool in link.tools().await? {
            // Judged as a gateway would: whatever the scenario hides in a schema, nothing may be fetched for it.
            let definition: Definition = serde_json::from_value(tool.clone())?;
            let findings = lint(&definition).len();
            let defect = link::header_defect(&tool["inputSchema"]);
            eprintln!("tool {}: {findings} findings, dropped: {defect:?}", tool["name"]);
            if defect.is_none() {
                tools.push(tool);
            }
        }
        Ok(Self { link, tools })
    }

    async fn play(&self, scenario: &str) -> Outcome<()> {
        match scenario {
            // Connecting and listing is all that these look at.
            "initialize" | "request-metadata" | "json-schema-ref-no-deref" => {}
            "tools_call" => drop(self.call("add_numbers", json!({"a": 5, "b": 3})).await?),
            "elicitation-sep1034-client-defaults"
            | "sse-retry"
            | "http-standard-headers"
            | "http-invalid-tool-headers" => self.call_all().await?,
            "sep-2322-client-request-state" => self.rounds().await?,
            "http-custom-headers" => {
                let context: Value =
                    serde_json::from_str(&std::env::var("MCP_CONFORMANCE_CONTEXT")?)?;
                for call in context["toolCalls"].as_array().into_iter().flatten() {
                    let tool = call["name"].as_str().ok_or("a call without a tool")?;
                    self.call(tool, call["arguments"].clone()).await?;
                }
            }
            "json-schema-2020-12-preservation" => {
                let schema = &self.tool("json_schema_2020_12_tool")?["inputSchema"];
                self.call("json_schema_echo", json!({"schema": schema})).await?;
            }
            _ => return Err(format!("the scenario {scenario} is not played").into()),
        }
        Ok(())
    }

    fn tool(&self, name: &str) -> Outcome<&Value> {
        let found = self.tools.iter().find(|tool| tool["name"] == name);
        found.ok_or_else(|| format!("the tool {name} is not listed").into())
    }

    /// Every tool that was kept, each with a made-up text where it wants one.
    async fn call_all(&self) -> Outcome<()> {
        for tool in &self.tools {
            let name = tool["name"].as_str().ok_or("a tool without a name")?;
            let required = tool["inputSchema"]["required"].as_array().into_iter().flatten();
            let arguments: Map<String, Value> = required
                .filter_map(Value::as_str)
                .map(|name| (name.to_owned(), json!("text")))
                .collect();
            self.call(name, Value::Object(arguments)).await?;
        }
        Ok(())
    }

    /// A call that needs answers, and between its rounds one that has nothing to do with it.
    async fn rounds(&self) -> Outcome<()> {
        let none = Map::new();
        let Turn::Ask { requests, state } = self.turn("test_mrtr_echo_state", &none, None).await?
        else {
            return Err("the tool asked nothing".into());
        };
        self.call("test_mrtr_unrelated", json!({})).await?;
        let resume = Resume { state, answers: accept(&requests) };
        let Turn::Answer(_) = self.turn("test_mrtr_echo_state", &none, Some(resume)).await? else {
            return Err("the tool asked again".into());
        };
        self.call("test_mrtr_no_state", json!({})).await?;
        self.call("test_mrtr_no_result_type", json!({})).await?;
        Ok(())
    }

    /// Calls a tool and gives whatever it asks.
    async fn call(&self, tool: &str, arguments: Value) -> Outcome<Answer> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let mut resume = None;
        for _ in 0..MAX_ROUNDS {
            match self.turn(tool, &arguments, resume.take()).await? {
                Turn::Answer(answer) => {
                    eprintln!("{tool} answered {}", answer.raw);
                    return Ok(answer);
                }
                Turn::Ask { requests, state } => {
                    resume = Some(Resume { state, answers: accept(&requests) });
                }
            }
        }
        Err(format!("the tool {tool} does not stop asking").into())
    }

    async fn turn(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        resume: Option<Resume>,
    ) -> Outcome<Turn> {
        let definition = self.tool(tool)?;
        let call = Call {
            input_schema: definition.get("inputSchema"),
            abilities: Abilities { elicitation: true, ..Abilities::default() },
            asker: Some(Arc::new(AsItStands)),
            resume,
            ..Call::new(tool, arguments)
        };
        Ok(self.link.call(call).await?)
    }
}
