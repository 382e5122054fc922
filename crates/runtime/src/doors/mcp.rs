//! MCP: the catalog as tools and resources, for every protocol revision that the SDK speaks.

mod ask;
mod documents;
mod reports;
mod shelf;
mod view;
mod watch;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use contract::{Caller, Code, Progress};
use futures::future::BoxFuture;
use rmcp::model::{
    CacheScope, CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CallToolResult,
    CompleteRequestMethod, CompleteRequestParams, CompleteResult, ConstString, ContentBlock,
    CustomRequest, CustomResult, ErrorCode, ErrorData, Extensions, GetPromptRequestParams,
    GetPromptResponse, Implementation, InputRequiredResult, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    Reference, ServerCapabilities, ServerConfig, SubscribeRequestMethod, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestMethod, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::session;
use super::verbatim;
use crate::call::{Abilities, Call, Person, Refusal, Reply, Rounds, Subject};
use crate::documents::Documents;
use crate::pipeline::Pipeline;
use ask::PeerAsk;
use shelf::Shelf;
use watch::{Line, Watching};

/// Progress that a slow client has not taken yet; more is dropped, the next report says as much.
const PROGRESS_BACKLOG: usize = 64;

/// 2024-11-05 had another HTTP transport, which is not offered.
static VERSIONS: LazyLock<Vec<ProtocolVersion>> = LazyLock::new(|| {
    const OLDEST: &str = "2025-03-26";
    let known = ProtocolVersion::KNOWN_VERSIONS.iter();
    known.filter(|version| version.as_str() >= OLDEST).cloned().collect()
});

tokio::task_local! {
    /// Who sent the HTTP request that this task is about, for what the SDK asks without telling.
    pub(super) static PRINCIPAL: Arc<str>;
}

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
    shelf: Arc<Shelf>,
    /// Who calls when the request itself does not tell (stdio).
    caller: Caller,
    watching: Arc<Watching>,
    /// What never ends by itself ends when this is cancelled.
    closing: CancellationToken,
}

impl McpDoor {
    pub fn new(pipeline: Arc<Pipeline>, face: Face, caller: Caller) -> Self {
        let (watching, closing) = (Watching::new(&pipeline), CancellationToken::new());
        let shelf = Arc::new(Shelf::default());
        shelf.listing(&pipeline);
        Self { pipeline, face: Arc::new(face), shelf, caller, watching, closing }
    }

    /// On the heap, because the SDK moves a handler's future several times for each request: with the pipeline's inside,
    /// copying it took as long as everything else together.
    fn enter(&self, call: Call) -> BoxFuture<'_, Reply> {
        Box::pin(self.pipeline.call(call))
    }

    /// For a connection whose requests do not name their session.
    pub(super) fn with_session_of_its_own(mut self) -> Self {
        self.caller.session = session::of_connection();
        self.for_one_client()
    }

    /// What one client watches is not what another does.
    pub(super) fn for_one_client(mut self) -> Self {
        self.watching = Watching::new(&self.pipeline);
        self
    }

    /// Requests that are open to be told of changes get their answer when `closing` is cancelled.
    pub(super) fn closing_with(mut self, closing: CancellationToken) -> Self {
        self.closing = closing;
        self
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        self.watching.heard();
        let mut caller = match context.extensions.get::<http::request::Parts>() {
            Some(parts) => {
                let caller = parts.extensions.get::<Caller>().cloned();
                let session = session::of_transport(&parts.headers);
                Caller { session, ..caller.unwrap_or_else(|| self.caller.clone()) }
            }
            None => self.caller.clone(),
        };
        caller.client =
            context.client_info().map(|info| format!("{}/{}", info.name, info.version).into());
        caller
    }

    /// The same in the session whose handle the request carries.
    fn caller_in_session(&self, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        let mut caller = self.caller(context);
        match session::of_meta(&context.meta) {
            Ok(None) => {}
            Ok(handle) => caller.session = handle,
            Err(error) => {
                self.pipeline.refused_at_door(&caller.principal, error.code);
                return Err(ErrorData::invalid_params(error.message, None));
            }
        }
        Ok(caller)
    }

    fn documents(&self) -> Option<Arc<Documents>> {
        self.pipeline.catalog().documents().cloned()
    }

    /// The documents, if they can be watched.
    fn changing_documents(&self) -> Option<Arc<Documents>> {
        self.documents().filter(|documents| documents.has_changes())
    }

    fn is_live(&self) -> bool {
        self.pipeline.options().live
    }

    /// How long a client may keep a listing.
    fn list_ttl_ms(&self) -> u64 {
        u64::try_from(self.pipeline.options().list_ttl.as_millis()).unwrap_or(u64::MAX)
    }

    fn line(&self, peer: Peer<RoleServer>, extensions: &Extensions) -> Line {
        Line {
            pipeline: Arc::clone(&self.pipeline),
            is_http: extensions.get::<http::request::Parts>().is_some(),
            peer,
            closing: self.closing.clone(),
        }
    }
}

fn unlisted(error: contract::ToolError) -> ErrorData {
    ErrorData::internal_error(error.message, None)
}

impl ServerHandler for McpDoor {
    fn get_info(&self) -> ServerConfig {
        // Prompts are declared although none is offered, and resources always: an empty list with its cache hints
        // answers a client once, an error makes some ask again on every connection.
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        if let Some(tools) = &mut capabilities.tools {
            tools.list_changed = self.is_live().then_some(true);
        }
        if let Some(resources) = &mut capabilities.resources {
            resources.subscribe = self.changing_documents().map(|_| true);
        }
        capabilities.completions = self.documents().map(|_| JsonObject::new());
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
        let is_shown = |principal: &Arc<str>| self.pipeline.may_call(principal, name);
        if !PRINCIPAL.try_with(is_shown).unwrap_or_else(|_| is_shown(&self.caller.principal)) {
            return None;
        }
        let schema = self.shelf.listing(&self.pipeline).input_schema(name)?;
        Some(Tool::new_with_raw(name.to_owned(), None, schema))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let filter = self.pipeline.filter(&self.caller(&context).principal);
        let tools = self.shelf.listing(&self.pipeline).tools(filter);
        // Where clients may call different tools, a listing is nobody else's.
        let scope = match self.pipeline.options().clients.is_empty() {
            true => CacheScope::Public,
            false => CacheScope::Private,
        };
        Ok(ListToolsResult::with_all_items(tools)
            .with_ttl_ms(self.list_ttl_ms())
            .with_cache_scope(scope))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = match self.documents() {
            Some(documents) => documents.list().await.map_err(unlisted)?,
            None => Vec::new(),
        };
        let views = resources.into_iter().map(documents::resource).collect();
        Ok(ListResourcesResult::with_all_items(views)
            .with_ttl_ms(self.list_ttl_ms())
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = match self.documents() {
            Some(documents) => documents.templates().await.map_err(unlisted)?,
            None => Vec::new(),
        };
        let views = templates.into_iter().map(documents::template).collect();
        Ok(ListResourceTemplatesResult::with_all_items(views)
            .with_ttl_ms(self.list_ttl_ms())
            .with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = self.caller_in_session(&context)?;
        let mut call = Call::read(request.uri.clone(), caller);
        call.cancel = context.ct.clone();
        call.traceparent = context.meta.get_traceparent().map(str::to_owned);
        documents::respond(&request.uri, self.enter(call).await)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let Some(documents) = self.changing_documents() else {
            return Err(ErrorData::method_not_found::<SubscribeRequestMethod>());
        };
        let Some(number) = documents.changes(&request.uri) else {
            let error = documents::unwatched();
            self.pipeline.refused_at_door(&self.caller(&context).principal, error.code);
            return Err(documents::failure(&request.uri, &error));
        };
        let line = self.line(context.peer, &context.extensions);
        self.watching.add(request.uri, number, line)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.changing_documents().is_none() {
            return Err(ErrorData::method_not_found::<UnsubscribeRequestMethod>());
        }
        self.watching.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let documents = self.changing_documents();
        if documents.is_none() && !self.is_live() {
            return None;
        }
        let lists = self.is_live().then(|| self.pipeline.catalog_changes());
        Some(self.watching.offer(documents.as_deref(), lists, requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.watching.listen(&self.pipeline, &context, &self.closing).await;
        Ok(())
    }

    /// A client of the handshake revisions hears of another catalog from here on, without having asked for it.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.is_live() {
            self.watching.follow(self.line(context.peer, &context.extensions));
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::default()
            .with_ttl_ms(self.list_ttl_ms())
            .with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Err(no_prompt(&request.name))
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let Some(documents) = self.documents() else {
            // Not declared, so not there; the SDK would answer an empty list.
            return Err(ErrorData::method_not_found::<CompleteRequestMethod>());
        };
        let template = match request.r#ref {
            Reference::Resource(reference) => reference.uri,
            Reference::Prompt(reference) => return Err(no_prompt(&reference.name)),
            _ => {
                return Err(ErrorData::invalid_params("`ref` must name a resource template", None));
            }
        };
        let argument = request.argument;
        let values = documents.complete(template, argument.name, argument.value).await;
        Ok(CompleteResult::new(documents::completion(values.map_err(unlisted)?)))
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
        let (sender, progress) = mpsc::channel::<Progress>(PROGRESS_BACKLOG);
        let token = context.meta.get_progress_token();
        let call = Call {
            caller: self.caller_in_session(&context)?,
            person: person(&request, &context),
            progress: token.is_some().then(|| {
                let sink: Arc<dyn Fn(Progress) + Send + Sync> =
                    Arc::new(move |report| drop(sender.try_send(report)));
                sink
            }),
            cancel: context.ct.clone(),
            traceparent: context.meta.get_traceparent().map(str::to_owned),
            subject: Subject::Tool(request.name.into_owned()),
            arguments: request.arguments.unwrap_or_default(),
        };
        let is_typed = is_stateless(&context);
        let Some(token) = token else {
            return respond(self.enter(call).await, is_typed);
        };
        let peer = &context.peer;
        let tell = |report: Progress| {
            let mut param = ProgressNotificationParam::new(token.clone(), report.done);
            param.total = report.total;
            param.message = report.message;
            // A client that went away is noticed by the transport; progress is a courtesy.
            async move { _ = peer.notify_progress(param).await }
        };
        respond(reports::beside(self.enter(call), progress, tell).await, is_typed)
    }
}

fn no_prompt(name: &str) -> ErrorData {
    let name = contract::text::one_line(&name.chars().take(128).collect::<String>());
    ErrorData::invalid_params(format!("there is no prompt `{name}`"), None)
}

/// Whether the client speaks 2026-07-28 or later: questions come as results, and results say of which kind they are.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

fn person(request: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> Person {
    let capabilities = context.client_capabilities().unwrap_or_default();
    let abilities = Abilities {
        elicitation: capabilities
            .elicitation
            .as_ref()
            .is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none()),
        elicitation_url: capabilities
            .elicitation
            .as_ref()
            .is_some_and(|elicitation| elicitation.url.is_some()),
        sampling: capabilities.sampling.is_some(),
        roots: capabilities.roots.is_some(),
    };
    if is_stateless(context) {
        Person::Rounds(Rounds {
            abilities,
            answers: request.input_responses.clone().unwrap_or_default(),
            state: request.request_state.clone(),
        })
    } else if abilities == Abilities::default() {
        Person::Absent
    } else {
        let ask = PeerAsk::new(context.peer.clone(), context.id.clone());
        Person::Connected { abilities, ask: Arc::new(ask) }
    }
}

fn respond(reply: Reply, is_typed: bool) -> Result<CallToolResponse, ErrorData> {
    match reply {
        Reply::Done(output) => Ok(match (&output.raw, view::texts(&output.content)) {
            (Some(raw), _) => {
                verbatim::stand_in(verbatim::completed(raw, &output, is_typed)).into()
            }
            (None, Some(texts)) => {
                let mut result = CallToolResult::success(texts);
                result.is_error = Some(output.is_error);
                result.structured_content = output.structured;
                result.into()
            }
            (None, None) => verbatim::stand_in(view::result(output, is_typed)).into(),
        }),
        // The protocol has its own error for a name that is not in the list.
        Reply::Failed(error) if error.code == Code::ToolNotFound => {
            let name = error.details.get("tool").and_then(|name| name.as_str()).unwrap_or_default();
            Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None))
        }
        Reply::Failed(error) => {
            let envelope = error.envelope();
            let text = ContentBlock::text(envelope.to_string());
            let mut result = CallToolResult::error(vec![text]);
            result.structured_content = Some(envelope);
            Ok(result.into())
        }
        Reply::InputRequired { questions, state } => match ask::requests(&questions) {
            Some(requests) => Ok(InputRequiredResult::new(Some(requests), Some(state)).into()),
            None => Ok(verbatim::stand_in(ask::result(&questions, state)).into()),
        },
        Reply::Refused(Refusal::BadState(message)) => Err(ErrorData::invalid_params(message, None)),
        Reply::Refused(Refusal::MissingAbility(ability)) => {
            Err(ErrorData::missing_required_client_capability(view::capability(ability)))
        }
    }
}
