//! Tests of resources over MCP and REST: listing, reading and completion, with every read through the pipeline.

use std::sync::Arc;
use std::time::Duration;

use contract::{
    CallContext, Constraints, ErrorCode, Resource, ResourceContent, ResourceProvider,
    ResourceTemplate, ToolError,
};
use runtime::{Catalog, CatalogError, PipelineOptions};
use serde_json::{Value, json};

use crate::http::{HttpServer, fetch_summary};
use crate::rig::{Rig, answer, scripted_tool};

const MODULES: [&str; 3] = ["auth", "audit", "billing"];

/// Provides fixed documents, and one for each module.
struct ModuleResources;

impl ResourceProvider for ModuleResources {
    fn list_resources(&self) -> Vec<Resource> {
        vec![Resource {
            uri: "test://overview".into(),
            name: "overview".into(),
            title: Some("Overview".into()),
            description: "An overview.".into(),
            mime_type: "text/markdown".into(),
        }]
    }

    fn list_templates(&self) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            uri_template: "test://module/{name}".into(),
            name: "module".into(),
            title: None,
            description: "One module.".into(),
            mime_type: "text/markdown".into(),
        }]
    }

    fn constraints(&self) -> Constraints {
        // Long enough for a panic with its backtrace on a busy machine.
        Constraints { timeout: Duration::from_secs(5), ..Constraints::default() }
    }

    fn read_resource(&self, uri: &str, ctx: &CallContext) -> Result<ResourceContent, ToolError> {
        match uri.strip_prefix("test://").unwrap_or_default() {
            "overview" => Ok(ResourceContent::from_text(uri, "text/markdown", "# Überblick\n")),
            "picture" => Ok(ResourceContent::from_bytes(uri, "image/png", vec![0, 159, 146, 150])),
            "slow" => {
                while !ctx.is_cancelled() {
                    std::thread::yield_now();
                }
                Ok(ResourceContent::from_text(uri, "text/plain", "too late"))
            }
            "huge" => Ok(ResourceContent::from_text(uri, "text/plain", "x".repeat(5_000_000))),
            "broken" => panic!("a defect"),
            module => match module.strip_prefix("module/") {
                Some(name) if MODULES.contains(&name) => {
                    Ok(ResourceContent::from_text(uri, "text/markdown", name))
                }
                Some(name) => Err(ToolError::new(
                    ErrorCode::InvalidInput,
                    format!("unknown module `{name}`; available: {}", MODULES.join(", ")),
                )),
                None => Err(ToolError::new(ErrorCode::NotFound, "there is no such resource")),
            },
        }
    }

    fn complete_variable(&self, template: &str, variable: &str, typed: &str) -> Vec<String> {
        assert_eq!((template, variable), ("test://module/{name}", "name"));
        let fitting = MODULES.iter().filter(|name| name.starts_with(typed));
        fitting.map(|name| (*name).to_owned()).collect()
    }
}

fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    catalog.add_tool(scripted_tool("echo", Constraints::default(), |_, _| answer("up"))).unwrap();
    catalog.add_resources(Arc::new(ModuleResources), |_| {}).unwrap();
    catalog
}

async fn server() -> HttpServer {
    HttpServer::with_rig(Rig::with_catalog(catalog(), PipelineOptions::default()).await, |_| {})
        .await
}

fn read(server: &HttpServer, uri: &str) -> reqwest::RequestBuilder {
    server.rpc("resources/read", json!({"uri": uri}))
}

#[tokio::test]
async fn resources_over_mcp() {
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
        let reply = fetch_summary(request).await.replace(&"x".repeat(200), "…");
        log.push(format!("{name}: {reply}"));
    }
    insta::assert_snapshot!(log.join("\n"));
}

#[tokio::test]
async fn resources_over_rest() {
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
        log.push(format!("{path}: {}", fetch_summary(server.get(path)).await));
    }
    insta::assert_snapshot!(log.join("\n"));
    let document: Value = server.get("/openapi.json").send().await.unwrap().json().await.unwrap();
    insta::assert_json_snapshot!(document["paths"]["/v1/resources/read"]["get"]["parameters"]);
}

#[tokio::test]
async fn tool_listings_do_not_contain_resource_reads() {
    let server = server().await;
    let tools: Value = server.get("/v1/tools").send().await.unwrap().json().await.unwrap();
    assert_eq!(tools["tools"].as_array().unwrap().len(), 1, "{tools}");
    let list: Value =
        server.rpc("tools/list", json!({})).send().await.unwrap().json().await.unwrap();
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 1, "{list}");
}

#[tokio::test]
async fn read_is_rate_limited_and_audited() {
    let mut catalog = Catalog::default();
    let once = |constraints: &mut Constraints| constraints.rate_per_minute = 1;
    catalog.add_resources(Arc::new(ModuleResources), once).unwrap();
    let rig = Rig::with_catalog(catalog, PipelineOptions::default()).await;
    let server = HttpServer::with_rig(rig, |_| {}).await;
    read(&server, "test://overview").send().await.unwrap();
    let second: Value =
        read(&server, "test://overview").send().await.unwrap().json().await.unwrap();
    assert_eq!(second["error"]["data"]["code"], "RATE_LIMITED", "{second}");
    assert!(second["error"]["data"]["details"]["retryAfterMs"].is_u64(), "{second}");
    let metrics = server.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains(r#"vouch_calls_total{tool="resources/read"} 2"#), "{metrics}");
    let lines = server.stop().await.audit_records().await;
    insta::assert_json_snapshot!(lines);
}

/// Provides one document.
struct GuideResources;

impl ResourceProvider for GuideResources {
    fn list_resources(&self) -> Vec<Resource> {
        vec![Resource {
            uri: "annex://guide".into(),
            name: "guide".into(),
            title: None,
            description: "A guide.".into(),
            mime_type: "text/plain".into(),
        }]
    }

    fn constraints(&self) -> Constraints {
        Constraints {
            timeout: Duration::from_secs(2),
            rate_per_minute: 600,
            ..Constraints::default()
        }
    }

    fn read_resource(&self, uri: &str, _: &CallContext) -> Result<ResourceContent, ToolError> {
        match uri {
            "annex://guide" => Ok(ResourceContent::from_text(uri, "text/plain", "open")),
            _ => Err(ToolError::new(ErrorCode::NotFound, "the annex has no such resource")),
        }
    }
}

#[tokio::test]
async fn combines_two_providers() {
    let mut catalog = catalog();
    catalog.add_resources(Arc::new(GuideResources), |_| {}).unwrap();
    let limits = &catalog.resources().unwrap().contract().constraints;
    assert_eq!((limits.timeout, limits.rate_per_minute), (Duration::from_secs(5), 600));
    let server =
        HttpServer::with_rig(Rig::with_catalog(catalog, PipelineOptions::default()).await, |_| {})
            .await;
    let complete = json!({
        "ref": {"type": "ref/resource", "uri": "test://module/{name}"},
        "argument": {"name": "name", "value": "bi"},
    });
    let mut log = Vec::new();
    for (name, request) in [
        ("list", server.rpc("resources/list", json!({}))),
        ("first provider", read(&server, "test://overview")),
        ("second provider", read(&server, "annex://guide")),
        ("invalid value", read(&server, "test://module/none")),
        ("unknown address", read(&server, "annex://window")),
        ("complete", server.rpc("completion/complete", complete)),
    ] {
        log.push(format!("{name}: {}", fetch_summary(request).await));
    }
    insta::assert_snapshot!(log.join("\n"));
}

#[test]
fn rejects_duplicate_addresses_and_the_reserved_tool_name() {
    let mut catalog = catalog();
    let second = catalog.add_resources(Arc::new(ModuleResources), |_| {});
    assert!(
        matches!(second, Err(CatalogError::DuplicateResource(uri)) if uri == "test://overview")
    );
    let same = catalog
        .add_tool(scripted_tool("resources/read", Constraints::default(), |_, _| answer("")));
    assert!(matches!(same, Err(CatalogError::ReservedName(_))));
}
