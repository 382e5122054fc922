//! The public connection type: lists tools, calls them, reports its status, and closes.

mod elicitation_queue;
mod lifecycle;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::error::RequestFailure;
use crate::in_flight::CallListener;
use crate::session::{OutgoingRequest, RequestMeta, UpstreamSession};
use crate::tool_pages::PagedToolList;
use crate::{
    CallFailure, CallOutcome, CallerCapabilities, ConnectionError, ConnectionStatus, Options,
    ProtocolDeviations, ProtocolEra, ServerInfo, UpstreamCall, headers, server_request,
    tool_result,
};
use lifecycle::ConnectionLifecycle;

const METHOD_NOT_FOUND: i64 = -32601;

/// One connection to one MCP server, for any number of concurrent calls. Dropping it closes the connection and ends the
/// child process behind it.
pub struct Connection {
    shared: Arc<ConnectionLifecycle>,
}

#[derive(Serialize)]
struct CallToolParams<'a> {
    name: &'a str,
    arguments: &'a Map<String, Value>,
    #[serde(rename = "inputResponses", skip_serializing_if = "Option::is_none")]
    answers: Option<&'a Map<String, Value>>,
    #[serde(rename = "requestState", skip_serializing_if = "Option::is_none")]
    state: Option<&'a str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<RequestMeta>,
}

#[derive(Serialize)]
struct ListToolsParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<RequestMeta>,
}

impl Connection {
    /// Creates a connection; it connects on first use.
    pub fn new(options: Options) -> Arc<Self> {
        Arc::new(Self { shared: ConnectionLifecycle::new(options) })
    }

    /// Connects if necessary and returns the server's info. Concurrent callers share one attempt.
    ///
    /// # Errors
    /// If the attempt fails, or the connection was closed.
    pub async fn connect(&self) -> Result<ServerInfo, ConnectionError> {
        self.shared.open_or_reuse_session().await.map(|session| session.server.clone())
    }

    /// Returns the definitions of all tools from all pages, as the server sent them. Returns an empty list for a server
    /// without the `tools` capability.
    ///
    /// # Errors
    /// If the server cannot be reached, rejects the request, or its listing exceeds the bounds.
    pub async fn list_tools(&self) -> Result<Vec<Value>, ConnectionError> {
        let bounds = self.shared.context.bounds;
        let mut listing = PagedToolList::default();
        let mut cursor = None;
        loop {
            let page = self.send_with_retry(|session, id| {
                let meta = session.request_meta(CallerCapabilities::default());
                let params = ListToolsParams { cursor: cursor.clone(), meta };
                let mut request = OutgoingRequest::new(id, "tools/list", params);
                request.cancel = true;
                request
            });
            let page = match page.await {
                Err(ConnectionError::Rejected { code: METHOD_NOT_FOUND, .. })
                    if !self.shared.open_or_reuse_session().await?.has_tools =>
                {
                    return Ok(Vec::new());
                }
                page => page?,
            };
            cursor = listing.add_page(&page, &bounds)?;
            if cursor.is_none() {
                return Ok(listing.tools);
            }
        }
    }

    /// Calls a tool and returns its result, or the input the server requires first. Dropping the future cancels the call
    /// at the server.
    ///
    /// A call that cannot have reached the server is retried once on a new connection. A call that may have run is never
    /// retried.
    ///
    /// # Errors
    /// If the server cannot be reached, rejects the call, or its response violates the protocol or the bounds.
    pub async fn call(&self, call: UpstreamCall<'_>) -> Result<CallOutcome, ConnectionError> {
        self.call_with_raw_failure(call).await.map_err(|failed| failed.error)
    }

    /// Works like [`Connection::call`], but the error includes the raw response if there was one. The gateway keeps it as a
    /// withheld answer.
    pub async fn call_with_raw_failure(
        &self,
        call: UpstreamCall<'_>,
    ) -> Result<CallOutcome, CallFailure> {
        let context = &self.shared.context;
        let in_turn = call.responder.is_some() && context.one_at_a_time.load(Ordering::Relaxed);
        let _turn = if in_turn { self.shared.turns.wait_for_turn().await } else { None };
        let raw = self.send_with_retry(|session, id| build_request(&call, session, id)).await?;
        let turn = tool_result::parse_result(raw, &context.bounds)?;
        if let CallOutcome::InputRequired { requests, .. } = &turn {
            let mut methods = requests.values().filter_map(|request| request["method"].as_str());
            if !methods.all(|method| server_request::is_offered(call.capabilities, method)) {
                let reason = "the server requests input that the caller did not offer to provide";
                return Err(ConnectionError::protocol_violation(reason).into());
            }
        }
        Ok(turn)
    }

    /// Sends a request and returns the text of its result. Retries once if the request did not reach the server.
    async fn send_with_retry<'a>(
        &self,
        build: impl Fn(&UpstreamSession, u64) -> OutgoingRequest<'a>,
    ) -> Result<Box<RawValue>, ConnectionError> {
        let mut repeated = false;
        loop {
            let session = self.shared.open_or_reuse_session().await?;
            let mut request = build(&session, self.shared.context.next_id());
            let (protocol, era) = session.protocol();
            let protocol = protocol.to_owned();
            let name = request.name.take();
            let request = OutgoingRequest { protocol: Some((&protocol, era)), name, ..request };
            match session.transport.send_request(request).await {
                Ok(result) => return Ok(result),
                Err(fail @ (RequestFailure::NotSent(_) | RequestFailure::SessionLost)) => {
                    let error = fail.into_error();
                    self.shared.discard_session(&session, &error);
                    if std::mem::replace(&mut repeated, true) {
                        return Err(error);
                    }
                }
                Err(RequestFailure::Final(error)) => return Err(error),
            }
        }
    }

    /// Returns a counter that increases whenever the tools may have changed: on a notification from the server, and on
    /// every new connection.
    pub fn subscribe_list_changed(&self) -> watch::Receiver<u64> {
        self.shared.context.changed.subscribe()
    }

    /// Returns the current status of the connection.
    pub fn status(&self) -> ConnectionStatus {
        self.shared.status()
    }

    /// Returns the protocol era of the open connection, or `None` if there is no connection.
    pub fn era(&self) -> Option<ProtocolEra> {
        self.shared.era()
    }

    /// Returns the counts of protocol deviations since the connection was created.
    pub fn deviations(&self) -> ProtocolDeviations {
        self.shared.context.deviations()
    }

    /// Returns the tail of the child's standard error, with control characters escaped and secrets redacted.
    pub fn stderr_tail(&self) -> String {
        let context = &self.shared.context;
        let text = self.shared.tail.text();
        text.lines()
            .map(|line| context.sanitize_text(line, usize::MAX))
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Closes the connection permanently and waits, within a limit, until the child has exited.
    pub async fn close(&self) {
        if let Some(session) = self.shared.shut_down() {
            session.close().await;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(session) = self.shared.shut_down() {
            session.shut_down(&ConnectionError::Closed);
        }
    }
}

fn build_request<'a>(
    call: &'a UpstreamCall<'_>,
    session: &UpstreamSession,
    id: u64,
) -> OutgoingRequest<'a> {
    let stateless = session.server.era == ProtocolEra::Stateless;
    let mut meta = session.request_meta(call.capabilities);
    if call.progress.is_some() || call.traceparent.is_some() {
        let meta = meta.get_or_insert_default();
        meta.progress_token = call.progress.as_ref().map(|_| id);
        meta.traceparent = call.traceparent.map(str::to_owned);
    }
    let resume = call.resume.as_ref().filter(|_| stateless);
    let params = CallToolParams {
        name: call.tool,
        arguments: call.arguments,
        answers: resume.map(|resume| &resume.answers).filter(|answers| !answers.is_empty()),
        state: resume.and_then(|resume| resume.state.as_deref()),
        meta,
    };
    let mut request = OutgoingRequest::new(id, "tools/call", params);
    request.name = Some(call.tool);
    request.cancel = true;
    request.listener = CallListener {
        progress: call.progress.clone(),
        responder: call.responder.clone(),
        capabilities: call.capabilities,
    };
    if stateless {
        request.headers = headers::headers_from_arguments(call.input_schema, call.arguments);
    }
    request
}
