//! MCP: the catalog as `tools/list` and `tools/call`, for every protocol revision that the SDK speaks.

mod ask;
mod view;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use contract::{Caller, Code, Progress};
use futures::future::BoxFuture;
use rmcp::model::{
    CacheScope, CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CallToolResult,
    CompleteRequestMethod, CompleteRequestParams, CompleteResult, ConstString, CustomRequest,
    CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation,
    InputRequiredResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::mpsc;

use crate::call::{Abilities, Call, Person, Refusal, Reply, Rounds};
use crate::pipeline::Pipeline;
use ask::PeerAsk;

/// How long a client may keep a listing. The catalog of a running server is fixed, so a minute is cautious.
const LIST_TTL_MS: u64 = 60_000;
/// Progress that a slow client has not taken yet; more is dropped, the next report says as much.
const PROGRESS_BACKLOG: usize = 64;

/// 2024-11-05 had another HTTP transport, which is not offered.
static VERSIONS: LazyLock<Vec<ProtocolVersion>> = LazyLock::new(|| {
    const OLDEST: &str = "2025-03-26";
    let known = ProtocolVersion::KNOWN_VERSIONS.iter();
    known.filter(|version| version.as_str() >= OLDEST).cloned().collect()
});

/// What a server tells about itself.
#[derive(Clone, Debug)]
pub struct Face {
    pub name: String,
    pub version: String,
    pub instructions: Option<String>,
}

/// The MCP door. Cheap to clone: the SDK makes one for each session or request.
#[derive(Clone)]
pub struct McpDoor {
    pipeline: Arc<Pipeline>,
    face: Arc<Face>,
    tools: Arc<Vec<Tool>>,
    /// Who calls when the request itself does not tell (stdio).
    caller: Caller,
}

impl McpDoor {
    pub fn new(pipeline: Arc<Pipeline>, face: Face, caller: Caller) -> Self {
        let tools = Arc::new(pipeline.catalog().contracts().map(view::tool).collect());
        Self { pipeline, face: Arc::new(face), tools, caller }
    }

    /// On the heap, because the SDK moves a handler's future several times for each request: with the pipeline's inside,
    /// copying it took as long as everything else together.
    fn enter(&self, call: Call) -> BoxFuture<'_, Reply> {
        Box::pin(self.pipeline.call(call))
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        let parts = context.extensions.get::<http::request::Parts>();
        let mut caller = parts
            .and_then(|parts| parts.extensions.get::<Caller>().cloned())
            .unwrap_or_else(|| self.caller.clone());
        caller.session = parts
            .and_then(|parts| parts.headers.get("mcp-session-id"))
            .and_then(|value| value.to_str().ok())
            .map(Into::into);
        caller.client =
            context.client_info().map(|info| format!("{}/{}", info.name, info.version).into());
        caller
    }
}

impl ServerHandler for McpDoor {
    fn get_info(&self) -> ServerConfig {
        // Prompts and resources are declared although none is offered: an empty list with its cache hints answers a
        // client once, an error makes some ask again on every connection.
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        let identity = Implementation::new(self.face.name.clone(), self.face.version.clone());
        let config = ServerConfig::new(capabilities).with_server_info(identity);
        match &self.face.instructions {
            Some(text) => config.with_instructions(text.clone()),
            None => config,
        }
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&VERSIONS)
    }

    /// Asked for every call, to check its headers: the schema is all that it takes.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tool = self.tools.iter().find(|tool| tool.name == name)?;
        Some(Tool::new_with_raw(tool.name.clone(), None, Arc::clone(&tool.input_schema)))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec())
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::default()
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::default()
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = contract::text::one_line(&request.uri);
        let data = serde_json::json!({"uri": uri});
        Err(ErrorData::resource_not_found(format!("there is no resource `{uri}`"), Some(data)))
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::default()
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = contract::text::one_line(&request.name);
        Err(ErrorData::invalid_params(format!("there is no prompt `{name}`"), None))
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        // Not declared, so not there; the SDK would answer an empty list.
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    /// What the SDK could not read as any request that it knows.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method =
            contract::text::one_line(&request.method.chars().take(128).collect::<String>());
        if method != CallToolRequestMethod::VALUE {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None));
        }
        self.pipeline.refused_at_door(&self.caller(&context).principal, Code::InvalidInput);
        Err(ErrorData::invalid_params(
            "`params` of tools/call must hold `name`, a string, and may hold `arguments`, an object",
            None,
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (reports, mut progress) = mpsc::channel::<Progress>(PROGRESS_BACKLOG);
        let token = context.meta.get_progress_token();
        let call = Call {
            caller: self.caller(&context),
            person: person(&request, &context),
            progress: token.is_some().then(|| {
                let sink: Arc<dyn Fn(Progress) + Send + Sync> =
                    Arc::new(move |report| drop(reports.try_send(report)));
                sink
            }),
            cancel: context.ct.clone(),
            traceparent: context.meta.get_traceparent().map(str::to_owned),
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
        };
        let Some(token) = token else {
            return respond(self.enter(call).await);
        };
        let notify = async |report: Progress| {
            let mut param = ProgressNotificationParam::new(token.clone(), report.done);
            param.total = report.total;
            param.message = report.message;
            // A client that went away is noticed by the transport; progress is a courtesy.
            let _ = context.peer.notify_progress(param).await;
        };
        let mut running = self.enter(call);
        let reply = loop {
            tokio::select! {
                biased;
                Some(report) = progress.recv() => notify(report).await,
                reply = &mut running => break reply,
            }
        };
        while let Ok(report) = progress.try_recv() {
            notify(report).await;
        }
        respond(reply)
    }
}

fn person(request: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> Person {
    let capabilities = context.client_capabilities().unwrap_or_default();
    let abilities = Abilities {
        elicitation: capabilities
            .elicitation
            .as_ref()
            .is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none()),
        sampling: capabilities.sampling.is_some(),
        roots: capabilities.roots.is_some(),
    };
    let rounds = context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
    if rounds {
        Person::Rounds(Rounds {
            abilities,
            answers: request.input_responses.clone().unwrap_or_default(),
            state: request.request_state.clone(),
        })
    } else if abilities == Abilities::default() {
        Person::Absent
    } else {
        Person::Connected { abilities, ask: Arc::new(PeerAsk::new(context.peer.clone())) }
    }
}

fn respond(reply: Reply) -> Result<CallToolResponse, ErrorData> {
    match reply {
        Reply::Done(output) => {
            let mut result = CallToolResult::success(view::content(output.content)?);
            result.structured_content = output.structured;
            Ok(result.into())
        }
        // The protocol has its own error for a name that is not in the list.
        Reply::Failed(error) if error.code == Code::ToolNotFound => {
            let name = error.details.get("tool").and_then(|name| name.as_str()).unwrap_or_default();
            Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None))
        }
        Reply::Failed(error) => {
            let envelope = error.envelope();
            let text = contract::Content::Text(envelope.to_string());
            let mut result = CallToolResult::error(view::content(vec![text])?);
            result.structured_content = Some(envelope);
            Ok(result.into())
        }
        Reply::InputRequired { questions, state } => {
            let requests = ask::requests(&questions)?;
            Ok(InputRequiredResult::new(Some(requests), Some(state)).into())
        }
        Reply::Refused(Refusal::BadState(message)) => Err(ErrorData::invalid_params(message, None)),
        Reply::Refused(Refusal::MissingAbility(ability)) => {
            Err(ErrorData::missing_required_client_capability(view::capability(ability)))
        }
    }
}
