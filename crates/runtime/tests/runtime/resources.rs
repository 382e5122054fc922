//! Resources: listed, read and completed over MCP and REST, every read through the pipeline.

use std::sync::Arc;
use std::time::Duration;

use contract::{
    CallContext, Code, Constraints, Resource, ResourceContent, ResourceTemplate, Resources,
    ToolError,
};
use runtime::{Catalog, CatalogError, PipelineOptions};
use serde_json::{Value, json};

use crate::http::{Server, show};
use crate::rig::{Rig, answer, tool};

const MODULES: [&str; 3] = ["auth", "audit", "billing"];

/// Two fixed documents, and one for each module.
struct Shelf;

impl Resources for Shelf {
    fn list(&self) -> Vec<Resource> {
        vec![Resource {
            uri: "test://overview".into(),
            name: "overview".into(),
            title: Some("Overview".into()),
            description: "What there is.".into(),
            mime_type: "text/markdown".into(),
        }]
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            uri_template: "test://module/{name}".into(),
            name: "module".into(),
            title: None,
            description: "One module.".into(),
            mime_type: "text/markdown".into(),
        }]
    }

    fn constraints(&self) -> Constraints {
        // Long enough for a panic with its back trace on a busy machine.
        Constraints { timeout: Duration::from_secs(1), ..Constraints::default() }
    }

    fn read(&self, uri: &str, ctx: &CallContext) -> Result<ResourceContent, ToolError> {
        match uri.strip_prefix("test://").unwrap_or_default() {
            "overview" => Ok(ResourceContent::text(uri, "text/markdown", "# Überblick\n")),
            "picture" => Ok(ResourceContent::blob(uri, "image/png", vec![0, 159, 146, 150])),
            "slow" => {
                while !ctx.is_cancelled() {
                    std::thread::yield_now();
                }
                Ok(ResourceContent::text(uri, "text/plain", "too late"))
            }
            "huge" => Ok(ResourceContent::text(uri, "text/plain", "x".repeat(5_000_000))),
            "broken" => panic!("a defect"),
            module => match module.strip_prefix("module/") {
                Some(name) if MODULES.contains(&name) => {
                    Ok(ResourceContent::text(uri, "text/markdown", name))
                }
                Some(name) => Err(ToolError::new(
                    Code::InvalidInput,
                    format!("there is no module `{name}`; there are: {}", MODULES.join(", ")),
                )),
                None => Err(ToolError::new(Code::NotFound, "there is no such resource")),
            },
        }
    }

    fn complete(&self, template: &str, variable: &str, typed: &str) -> Vec<String> {
        assert_eq!((template, variable), ("test://module/{name}", "name"));
        let fitting = MODULES.iter().filter(|name| name.starts_with(typed));
        fitting.map(|name| (*name).to_owned()).collect()
    }
}

fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    catalog.add_tool(tool("echo", Constraints::default(), |_, _| answer("up"))).unwrap();
    catalog.add_resources(Arc::new(Shelf), |_| {}).unwrap();
    catalog
}

async fn server() -> Server {
    Server::on(Rig::over(catalog(), PipelineOptions::default()).await, |_| {}).await
}

fn read(server: &Server, uri: &str) -> reqwest::RequestBuilder {
    server.rpc("resources/read", json!({"uri": uri}))
}

#[tokio::test]
async fn over_mcp() {
    let server = server().await;
    let long = format!("test://{}", "x".repeat(2100));
    let complete = |typed: &str| {
        json!({
            "ref": {"type": "ref/resource", "uri": "test://module/{name}"},
            "argument": {"name": "name", "value": typed},
        })
    };
    let prompt =
        json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}});
    let mut log = Vec::new();
    for (name, request) in [
        ("list", server.rpc("resources/list", json!({}))),
        ("templates", server.rpc("resources/templates/list", json!({}))),
        ("text", read(&server, "test://overview")),
        ("blob", read(&server, "test://picture")),
        ("expanded", read(&server, "test://module/auth")),
        ("no such module", read(&server, "test://module/none")),
        ("no such resource", read(&server, "test://none")),
        ("too long", read(&server, &long)),
        ("too slow", read(&server, "test://slow")),
        ("too large", read(&server, "test://huge")),
        ("a defect", read(&server, "test://broken")),
        ("complete", server.rpc("completion/complete", complete("au"))),
        ("complete nothing", server.rpc("completion/complete", complete("x"))),
        ("complete a prompt", server.rpc("completion/complete", prompt)),
        (
            "not a tool",
            server.rpc(
                "tools/call",
                json!({"name": "resources/read", "arguments": {"uri": "test://overview"}}),
            ),
        ),
    ] {
        let reply = show(request).await.replace(&"x".repeat(200), "…");
        log.push(format!("{name}: {reply}"));
    }
    insta::assert_snapshot!(log.join("\n"));
}

#[tokio::test]
async fn over_rest() {
    let server = server().await;
    let mut log = Vec::new();
    for path in [
        "/v1/resources",
        "/v1/resources/read?uri=test%3A%2F%2Foverview",
        "/v1/resources/read?uri=test://picture",
        "/v1/resources/read?uri=test://module/none",
        "/v1/resources/read?uri=test://none",
        "/v1/resources/read?uri=test://slow",
        "/v1/resources/read?uri=",
        "/v1/resources/read",
        "/v1/resources/read?uri=a&uri=b",
        "/v1/resources/read?uri=%ff",
        "/v1/tools/resources%2Fread",
    ] {
        log.push(format!("{path}: {}", show(server.get(path)).await));
    }
    insta::assert_snapshot!(log.join("\n"));
    let document: Value = server.get("/openapi.json").send().await.unwrap().json().await.unwrap();
    insta::assert_json_snapshot!(document["paths"]["/v1/resources/read"]["get"]["parameters"]);
}

#[tokio::test]
async fn no_listing_of_tools_shows_them() {
    let server = server().await;
    let tools: Value = server.get("/v1/tools").send().await.unwrap().json().await.unwrap();
    assert_eq!(tools["tools"].as_array().unwrap().len(), 1, "{tools}");
    let list: Value =
        server.rpc("tools/list", json!({})).send().await.unwrap().json().await.unwrap();
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 1, "{list}");
}

#[tokio::test]
async fn a_read_is_limited_and_leaves_its_line() {
    let mut catalog = Catalog::default();
    let once = |constraints: &mut Constraints| constraints.rate_per_minute = 1;
    catalog.add_resources(Arc::new(Shelf), once).unwrap();
    let rig = Rig::over(catalog, PipelineOptions::default()).await;
    let server = Server::on(rig, |_| {}).await;
    read(&server, "test://overview").send().await.unwrap();
    let second: Value =
        read(&server, "test://overview").send().await.unwrap().json().await.unwrap();
    assert_eq!(second["error"]["data"]["code"], "RATE_LIMITED", "{second}");
    assert!(second["error"]["data"]["details"]["retryAfterMs"].is_u64(), "{second}");
    let metrics = server.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains(r#"vouch_calls_total{tool="resources/read"} 2"#), "{metrics}");
    let lines = server.stop().await.audit().await;
    insta::assert_json_snapshot!(lines);
}

/// A provider of one document, and of one family that has the other's values.
struct Annex;

impl Resources for Annex {
    fn list(&self) -> Vec<Resource> {
        vec![Resource {
            uri: "annex://door".into(),
            name: "door".into(),
            title: None,
            description: "The way in.".into(),
            mime_type: "text/plain".into(),
        }]
    }

    fn constraints(&self) -> Constraints {
        Constraints {
            timeout: Duration::from_millis(100),
            rate_per_minute: 600,
            ..Constraints::default()
        }
    }

    fn read(&self, uri: &str, _: &CallContext) -> Result<ResourceContent, ToolError> {
        match uri {
            "annex://door" => Ok(ResourceContent::text(uri, "text/plain", "open")),
            _ => Err(ToolError::new(Code::NotFound, "the annex has no such resource")),
        }
    }
}

#[tokio::test]
async fn two_providers_are_one() {
    let mut catalog = catalog();
    catalog.add_resources(Arc::new(Annex), |_| {}).unwrap();
    let limits = &catalog.documents().unwrap().contract().constraints;
    assert_eq!((limits.timeout, limits.rate_per_minute), (Duration::from_secs(1), 600));
    let server = Server::on(Rig::over(catalog, PipelineOptions::default()).await, |_| {}).await;
    let complete = json!({
        "ref": {"type": "ref/resource", "uri": "test://module/{name}"},
        "argument": {"name": "name", "value": "bi"},
    });
    let mut log = Vec::new();
    for (name, request) in [
        ("list", server.rpc("resources/list", json!({}))),
        ("the first's", read(&server, "test://overview")),
        ("the second's", read(&server, "annex://door")),
        ("a wrong value", read(&server, "test://module/none")),
        ("nobody's", read(&server, "annex://window")),
        ("complete", server.rpc("completion/complete", complete)),
    ] {
        log.push(format!("{name}: {}", show(request).await));
    }
    insta::assert_snapshot!(log.join("\n"));
}

#[test]
fn one_owner_of_an_address_and_no_tool_of_that_name() {
    let mut catalog = catalog();
    let second = catalog.add_resources(Arc::new(Shelf), |_| {});
    assert!(
        matches!(second, Err(CatalogError::DuplicateResource(uri)) if uri == "test://overview")
    );
    let same = catalog.add_tool(tool("resources/read", Constraints::default(), |_, _| answer("")));
    assert!(matches!(same, Err(CatalogError::ReservedName(_))));
}
