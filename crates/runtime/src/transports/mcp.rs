//! The MCP service: serves the catalog as tools and resources, for every protocol revision that the SDK supports.
//!
//! Used by both the stdio and the HTTP transport. Start at [`McpService`]; its `ServerHandler` implementation has one
//! method per request.

mod convert;
mod direct;
mod listing;
mod peer_elicitation;
mod progress;
mod resources;
mod response;
mod subscriptions;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use contract::{Caller, ErrorCode, Progress};
use futures::future::BoxFuture;
use rmcp::model::{
    CacheScope, CallToolRequestMethod, CallToolRequestParams, CallToolResponse,
    CancelledNotificationParam, CompleteRequestMethod, CompleteRequestParams, CompleteResult,
    ConstString, CustomRequest, CustomResult, ErrorCode as RpcErrorCode, ErrorData, Extensions,
    GetPromptRequestParams, GetPromptResponse, Implementation, JsonObject, ListPromptsResult,
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
use crate::call::{
    CallOrigin, CallSubject, ClientCapabilities, ElicitationChannel, RoundInput, ToolCall,
    ToolReply,
};
use crate::pipeline::Pipeline;
use crate::resource_catalog::ResourceCatalog;
pub(super) use direct::{DirectAnswer, DirectCall, DirectClient, DirectRun, SessionObserver};
use listing::ListingCache;
use peer_elicitation::PeerElicitationHandler;
use response::build_response;
use subscriptions::{ResourceSubscriptions, UpdateSink};

/// Maximum queued progress reports of a slow client. Further reports are dropped; the next one supersedes them.
const PROGRESS_BACKLOG: usize = 64;

/// Supported protocol versions. 2024-11-05 used another HTTP transport, which is not supported.
static VERSIONS: LazyLock<Vec<ProtocolVersion>> = LazyLock::new(|| {
    const OLDEST: &str = "2025-03-26";
    let known = ProtocolVersion::KNOWN_VERSIONS.iter();
    known.filter(|version| version.as_str() >= OLDEST).cloned().collect()
});

tokio::task_local! {
    /// The principal of the current HTTP request, for SDK callbacks that do not receive the request.
    pub(super) static PRINCIPAL: Arc<str>;
}

/// The server's identity as reported to clients.
#[derive(Clone, Debug)]
pub struct ServerIdentity {
    pub name: String,
    pub version: String,
    pub instructions: Option<String>,
}

/// The MCP service. Cheap to clone: the SDK creates one for each session or request.
#[derive(Clone)]
pub struct McpService {
    pipeline: Arc<Pipeline>,
    identity: Arc<ServerIdentity>,
    listings: Arc<ListingCache>,
    /// The caller of requests that do not carry one (stdio).
    caller: Caller,
    subscriptions: Arc<ResourceSubscriptions>,
    /// Ends requests that never end by themselves.
    shutdown: CancellationToken,
    origin: CallOrigin,
    observer: Option<Arc<dyn SessionObserver>>,
}

impl McpService {
    /// Creates a service. `caller` is used for requests that do not carry a caller.
    pub fn new(pipeline: Arc<Pipeline>, identity: ServerIdentity, caller: Caller) -> Self {
        let (subscriptions, shutdown) =
            (ResourceSubscriptions::new(&pipeline), CancellationToken::new());
        let listings = Arc::new(ListingCache::default());
        listings.get_or_build(&pipeline);
        let identity = Arc::new(identity);
        let origin = CallOrigin::default();
        Self {
            pipeline,
            identity,
            listings,
            caller,
            subscriptions,
            shutdown,
            origin,
            observer: None,
        }
    }

    /// Runs a call through the pipeline. The future is boxed because the SDK moves a handler's future several times per
    /// request; with the pipeline's future inline, copying it took as long as everything else together.
    fn run_call(&self, call: ToolCall) -> BoxFuture<'_, ToolReply> {
        Box::pin(self.pipeline.call(call))
    }

    /// Returns a service for the connection of a client that the user runs, with its own session id.
    pub(super) fn for_local_connection(mut self) -> Self {
        self.caller.session = session::new_connection_session();
        self.origin = CallOrigin::Local;
        self.with_own_subscriptions()
    }

    /// Returns a service for the requests of one principal.
    pub(super) fn with_principal(mut self, principal: Arc<str>) -> Self {
        self.caller.principal = principal;
        self.with_own_subscriptions()
    }

    /// Returns a service with its own subscriptions, which must not be shared between clients.
    fn with_own_subscriptions(mut self) -> Self {
        self.subscriptions = ResourceSubscriptions::new(&self.pipeline);
        self
    }

    /// Returns a service whose open subscription requests end when `shutdown` is cancelled.
    pub(super) fn with_shutdown(mut self, shutdown: CancellationToken) -> Self {
        self.shutdown = shutdown;
        self
    }

    /// Returns the caller of a request and records that the client is active.
    fn identify_caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        self.subscriptions.record_activity();
        let mut caller = match context.extensions.get::<http::request::Parts>() {
            Some(parts) => {
                let caller = parts.extensions.get::<Caller>().cloned();
                let session = session::session_from_transport(&parts.headers);
                Caller { session, ..caller.unwrap_or_else(|| self.caller.clone()) }
            }
            None => self.caller.clone(),
        };
        // Without a handshake, the SDK would name itself for a client that has not given its name.
        let client = match is_stateless(context) {
            true => context.meta.client_info(),
            false => context.client_info(),
        };
        caller.client = client.as_ref().map(direct::format_client);
        caller
    }

    /// Returns the caller in the session named by the request. Errors if the session handle is invalid.
    fn identify_caller_in_session(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Caller, ErrorData> {
        let mut caller = self.identify_caller(context);
        match session::session_from_meta(&context.meta) {
            Ok(None) => {}
            Ok(handle) => caller.session = handle,
            Err(error) => {
                self.pipeline.record_refused_request(&caller.principal, error.code);
                return Err(ErrorData::invalid_params(error.message, None));
            }
        }
        Ok(caller)
    }

    /// Returns the part of a listing that the caller may read, by the address of each item.
    fn keep_readable<T>(
        &self,
        context: &RequestContext<RoleServer>,
        mut items: Vec<T>,
        address: impl Fn(&T) -> &str,
    ) -> Vec<T> {
        let principal = self.identify_caller(context).principal;
        items.retain(|item| self.pipeline.may_read(&principal, address(item)));
        items
    }

    /// Returns who may cache a listing. If clients may use different tools and resources, only the client itself.
    fn list_scope(&self) -> CacheScope {
        match self.pipeline.options().clients.is_empty() {
            true => CacheScope::Public,
            false => CacheScope::Private,
        }
    }

    fn resource_catalog(&self) -> Option<Arc<ResourceCatalog>> {
        self.pipeline.catalog().resources().cloned()
    }

    /// Returns the resources if clients can subscribe to them.
    fn subscribable_resources(&self) -> Option<Arc<ResourceCatalog>> {
        self.resource_catalog().filter(|resources| resources.has_changes())
    }

    fn is_live(&self) -> bool {
        self.pipeline.options().live
    }

    /// Returns the time for which a client may cache a listing.
    fn list_ttl_ms(&self) -> u64 {
        u64::try_from(self.pipeline.options().list_ttl.as_millis()).unwrap_or(u64::MAX)
    }

    fn build_update_sink(&self, peer: Peer<RoleServer>, extensions: &Extensions) -> UpdateSink {
        UpdateSink {
            pipeline: Arc::clone(&self.pipeline),
            is_http: extensions.get::<http::request::Parts>().is_some(),
            peer,
            shutdown: self.shutdown.clone(),
        }
    }
}

fn listing_error(error: contract::ToolError) -> ErrorData {
    ErrorData::internal_error(error.message, None)
}

impl ServerHandler for McpService {
    fn get_info(&self) -> ServerConfig {
        // Prompts and resources are declared even without any. An empty list with cache hints satisfies a client once;
        // an error makes some clients ask again on every connection.
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        if let Some(tools) = &mut capabilities.tools {
            tools.list_changed = self.is_live().then_some(true);
        }
        if let Some(resources) = &mut capabilities.resources {
            resources.subscribe = self.subscribable_resources().map(|_| true);
        }
        capabilities.completions = self.resource_catalog().map(|_| JsonObject::new());
        let info = Implementation::new(self.identity.name.clone(), self.identity.version.clone());
        let config = ServerConfig::new(capabilities).with_server_info(info);
        match &self.identity.instructions {
            Some(text) => config.with_instructions(text.clone()),
            None => config,
        }
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&VERSIONS)
    }

    /// Returns the tool with its input schema only. The SDK calls this for every tool call, to check its headers.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let is_shown = |principal: &Arc<str>| self.pipeline.may_call(principal, name);
        if !PRINCIPAL.try_with(is_shown).unwrap_or_else(|_| is_shown(&self.caller.principal)) {
            return None;
        }
        let schema = self.listings.get_or_build(&self.pipeline).input_schema(name)?;
        Some(Tool::new_with_raw(name.to_owned(), None, schema))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let filter = self.pipeline.tool_filter(&self.identify_caller(&context).principal);
        let tools = self.listings.get_or_build(&self.pipeline).allowed_tools(filter.as_deref());
        Ok(ListToolsResult::with_all_items(tools)
            .with_ttl_ms(self.list_ttl_ms())
            .with_cache_scope(self.list_scope()))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = match self.resource_catalog() {
            Some(catalog) => catalog.list().await.map_err(listing_error)?,
            None => Vec::new(),
        };
        let resources = self.keep_readable(&context, resources, |resource| &resource.uri);
        let views = resources.into_iter().map(resources::to_mcp_resource).collect();
        Ok(ListResourcesResult::with_all_items(views)
            .with_ttl_ms(self.list_ttl_ms())
            .with_cache_scope(self.list_scope()))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = match self.resource_catalog() {
            Some(catalog) => catalog.templates().await.map_err(listing_error)?,
            None => Vec::new(),
        };
        let templates = self.keep_readable(&context, templates, |template| &template.uri_template);
        let views = templates.into_iter().map(resources::to_mcp_template).collect();
        Ok(ListResourceTemplatesResult::with_all_items(views)
            .with_ttl_ms(self.list_ttl_ms())
            .with_cache_scope(self.list_scope()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = self.identify_caller_in_session(&context)?;
        let mut call = ToolCall::for_resource(request.uri.clone(), caller);
        call.cancel = context.ct.clone();
        call.traceparent = context.meta.get_traceparent().map(str::to_owned);
        resources::build_read_response(&request.uri, self.run_call(call).await)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let Some(resources) = self.subscribable_resources() else {
            return Err(ErrorData::method_not_found::<SubscribeRequestMethod>());
        };
        let principal = self.identify_caller(&context).principal;
        let readable = self.pipeline.may_read(&principal, &request.uri);
        let Some(number) = resources.changes(&request.uri).filter(|_| readable) else {
            let error = resources::not_subscribable_error();
            self.pipeline.record_refused_request(&principal, error.code);
            return Err(resources::to_error_data(&request.uri, &error));
        };
        let sink = self.build_update_sink(context.peer, &context.extensions);
        self.subscriptions.subscribe(request.uri, number, sink)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.subscribable_resources().is_none() {
            return Err(ErrorData::method_not_found::<UnsubscribeRequestMethod>());
        }
        self.subscriptions.unsubscribe(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let resources = self.subscribable_resources();
        if resources.is_none() && !self.is_live() {
            return None;
        }
        let lists = self.is_live().then(|| self.pipeline.catalog_changes());
        // There is no request here, but the service belongs to the principal of the request or session.
        let may_read = |uri: &str| self.pipeline.may_read(&self.caller.principal, uri);
        Some(self.subscriptions.accept_filter(resources.as_deref(), lists, requested, may_read))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.subscriptions.listen(&self.pipeline, &context, &self.shutdown).await;
        Ok(())
    }

    /// Starts catalog change notifications. Clients of the handshake revisions receive them without subscribing.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.report_handshake(&context);
        if self.is_live() {
            self.subscriptions
                .follow_catalog(self.build_update_sink(context.peer, &context.extensions));
        }
    }

    async fn on_cancelled(
        &self,
        cancelled: CancelledNotificationParam,
        context: NotificationContext<RoleServer>,
    ) {
        if let Some(request) = &cancelled.request_id {
            self.report_cancellation(request, &context);
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
        Err(unknown_prompt_error(&request.name))
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let Some(resources) = self.resource_catalog() else {
            // The capability is not declared, so the method does not exist. The SDK would return an empty list.
            return Err(ErrorData::method_not_found::<CompleteRequestMethod>());
        };
        let template = match request.r#ref {
            Reference::Resource(reference) => reference.uri,
            Reference::Prompt(reference) => return Err(unknown_prompt_error(&reference.name)),
            _ => {
                return Err(ErrorData::invalid_params("`ref` must name a resource template", None));
            }
        };
        let principal = self.identify_caller(&context).principal;
        if !self.pipeline.may_read(&principal, &template) {
            return Ok(CompleteResult::new(resources::to_completion_info(Vec::new())));
        }
        let argument = request.argument;
        let values = resources.complete(template, argument.name, argument.value).await;
        Ok(CompleteResult::new(resources::to_completion_info(values.map_err(listing_error)?)))
    }

    /// Handles requests that the SDK could not parse as a known request.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method =
            contract::text::one_line(&request.method.chars().take(128).collect::<String>());
        if method != CallToolRequestMethod::VALUE {
            return Err(ErrorData::new(RpcErrorCode::METHOD_NOT_FOUND, method, None));
        }
        self.pipeline.record_refused_request(
            &self.identify_caller(&context).principal,
            ErrorCode::InvalidInput,
        );
        Err(ErrorData::invalid_params(
            "`params` of tools/call must have a string `name` and may have an object `arguments`",
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
        let call = ToolCall {
            caller: self.identify_caller_in_session(&context)?,
            origin: self.origin,
            channel: elicitation_channel(&request, &context),
            progress: token.is_some().then(|| {
                let sink: Arc<dyn Fn(Progress) + Send + Sync> =
                    Arc::new(move |report| drop(sender.try_send(report)));
                sink
            }),
            cancel: context.ct.clone(),
            traceparent: context.meta.get_traceparent().map(str::to_owned),
            subject: CallSubject::Tool(request.name.into_owned()),
            arguments: request.arguments.unwrap_or_default(),
        };
        let is_typed = is_stateless(&context);
        let Some(token) = token else {
            return build_response(self.run_call(call).await, is_typed);
        };
        let peer = &context.peer;
        let notify = |report: Progress| {
            let mut param = ProgressNotificationParam::new(token.clone(), report.done);
            param.total = report.total;
            param.message = report.message;
            // A failure is ignored: the transport detects a client that disconnected.
            async move { _ = peer.notify_progress(param).await }
        };
        build_response(
            progress::run_with_progress(self.run_call(call), progress, notify).await,
            is_typed,
        )
    }
}

fn unknown_prompt_error(name: &str) -> ErrorData {
    let name = contract::text::one_line(&name.chars().take(128).collect::<String>());
    ErrorData::invalid_params(format!("unknown prompt `{name}`"), None)
}

/// Returns true if the client speaks 2026-07-28 or later: elicitations are sent as results, and results have a type.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Returns the capabilities that a call may use.
fn to_capabilities(declared: &rmcp::model::ClientCapabilities) -> ClientCapabilities {
    let elicitation = declared.elicitation.as_ref();
    let has_form = elicitation.is_some_and(|it| it.form.is_some() || it.url.is_none());
    ClientCapabilities {
        elicitation: has_form,
        elicitation_url: elicitation.is_some_and(|elicitation| elicitation.url.is_some()),
        sampling: declared.sampling.is_some(),
        roots: declared.roots.is_some(),
    }
}

/// Returns the way to reach the client's user, based on protocol version and declared capabilities.
fn elicitation_channel(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> ElicitationChannel {
    let supported = to_capabilities(&context.client_capabilities().unwrap_or_default());
    if is_stateless(context) {
        ElicitationChannel::MultiRound(RoundInput {
            capabilities: supported,
            answers: request.input_responses.clone().unwrap_or_default(),
            state: request.request_state.clone(),
        })
    } else if supported == ClientCapabilities::default() {
        ElicitationChannel::Unavailable
    } else {
        let peer = PeerElicitationHandler::new(context.peer.clone(), context.id.clone());
        ElicitationChannel::Connected { capabilities: supported, handler: Arc::new(peer) }
    }
}
