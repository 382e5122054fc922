//! The tools of the repository pack on plain `rmcp`, without the pipeline. Benchmarks use it as the baseline.
//!
//! The server trusts every caller. It passes arguments directly to the tool, on a blocking thread if the tool may block,
//! and returns the result unchanged. There is no validation, no limit and no audit.

use std::sync::Arc;

use contract::{CallContext, Caller, ContentBlock, Tool};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock as RpcContentBlock,
    ErrorData, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;

/// An MCP server that calls its tools directly.
#[derive(Clone)]
struct BareServer {
    tools: Arc<Vec<Arc<dyn Tool>>>,
}

impl ServerHandler for BareServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.tools.iter().map(|tool| {
            let contract = tool.contract();
            let schema = contract.input.as_value().as_object().cloned().unwrap_or_default();
            rmcp::model::Tool::new(contract.name.clone(), contract.description.clone(), schema)
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = self.tools.iter().find(|tool| tool.contract().name == request.name).cloned();
        let tool = tool.ok_or_else(|| ErrorData::invalid_params("unknown tool", None))?;
        let mut arguments = Value::Object(request.arguments.unwrap_or_default());
        // Tools expect their arguments with defaults filled in.
        tool.contract().input.fill_defaults(&mut arguments);
        let ctx = CallContext::new(Caller::new("bench"));
        let output = match tool.call_now(&arguments, &ctx) {
            Some(output) => output,
            None => tokio::task::spawn_blocking(move || tool.call(arguments, &ctx))
                .await
                .map_err(|error| ErrorData::internal_error(error.to_string(), None))?,
        };
        let output = output.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let text = match (output.content.into_iter().next(), &output.structured) {
            (Some(ContentBlock::Text(text)), _) => text,
            (_, structured) => structured.as_ref().map(Value::to_string).unwrap_or_default(),
        };
        let mut result = CallToolResult::success(vec![RpcContentBlock::text(text)]);
        result.structured_content = output.structured;
        Ok(result.into())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools = pack_repo::build_tools(".", pack_repo::RepoOptions::default())?;
    let server = BareServer { tools: Arc::new(tools) };
    if std::env::args().any(|argument| argument == "--stdio") {
        server.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default().with_json_response(true),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    use std::io::Write;
    writeln!(std::io::stderr(), "listening on http://{address}/mcp")?;
    axum::serve(listener, axum::Router::new().route_service("/mcp", service)).await?;
    Ok(())
}
