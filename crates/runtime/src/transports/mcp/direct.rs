//! Runs a tool call without the SDK, which takes more time for parsing, tasks and queues than the call itself.
//!
//! Only a call with one answer can be run so: its client wants no progress and cannot be asked. Everything else, and every
//! message that is unusual in any way, is left to the SDK, which alone decides about the protocol. Tests compare the
//! answers of both ways.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock};

use contract::Caller;
use futures::future::BoxFuture;
use http::HeaderMap;
use memchr::memmem::Finder;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestMethod, ConstString, ErrorCode as RpcErrorCode, ErrorData, Implementation,
    InitializeRequestParams, JsonObject, JsonRpcError, ProtocolVersion, RequestId,
    RequestMetaObject,
};
use rmcp::service::NotificationContext;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tokio_util::sync::CancellationToken;

use super::super::session;
use super::response::write_result;
use super::{McpService, to_capabilities};
use crate::call::{CallSubject, ClientCapabilities, ElicitationChannel, RoundInput, ToolCall};

/// Prefix of the members of `_meta` that the protocol defines.
const PROTOCOL_META: &str = "io.modelcontextprotocol/";
const PROGRESS_TOKEN: &str = "progressToken";

/// A tool call as the client sent it.
pub(in crate::transports) struct DirectCall {
    id: RequestId,
    name: String,
    arguments: JsonObject,
    meta: RequestMetaObject,
}

/// The client behind a call that the SDK does not see.
#[derive(Clone)]
pub(in crate::transports) struct DirectClient {
    name: Option<Arc<str>>,
    channel: ElicitationChannel,
    /// The client expects a result type (2026-07-28 and later).
    is_typed: bool,
}

/// The answer to a call: a JSON-RPC message.
pub(in crate::transports) struct DirectAnswer {
    pub(in crate::transports) message: Vec<u8>,
    /// The code of a JSON-RPC error.
    pub(in crate::transports) error: Option<RpcErrorCode>,
}

/// A call that has been prepared. It runs when it is polled.
pub(in crate::transports) struct DirectRun {
    pub(in crate::transports) answer: BoxFuture<'static, DirectAnswer>,
    pub(in crate::transports) cancel: CancellationToken,
}

/// Receives what the SDK learns about the sessions of clients. The headers are those of the client's notification.
pub(in crate::transports) trait SessionObserver: Send + Sync {
    /// Called after a handshake with a client that cannot be asked during a call.
    fn on_handshake(&self, headers: &HeaderMap, service: McpService, client: DirectClient);
    /// Called when a client cancels a request.
    fn on_cancellation(&self, headers: &HeaderMap, request: &RequestId);
}

/// Only these members: the SDK may know others, or may reject what they contain.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallMessage<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    id: RequestId,
    #[serde(borrow)]
    method: Cow<'a, str>,
    params: ObjectOnly<CallParams>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallParams {
    name: String,
    #[serde(default)]
    arguments: Option<JsonObject>,
    #[serde(default, rename = "_meta")]
    meta: Option<JsonObject>,
}

/// A value that is read from an object only. Serde also reads a struct from an array of its members.
struct ObjectOnly<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ObjectOnly<T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = ObjectOnly<T>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members)).map(ObjectOnly)
            }
        }

        input.deserialize_map(ObjectVisitor(PhantomData))
    }
}

impl DirectCall {
    /// Parses a message. Returns `None` for everything but a plain tool call.
    pub(in crate::transports) fn parse(message: &[u8]) -> Option<Self> {
        static METHOD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"tools/call\""));
        METHOD.find(message)?;
        let ObjectOnly(CallMessage { jsonrpc, id, method, params: ObjectOnly(params) }) =
            serde_json::from_slice(message).ok()?;
        if jsonrpc != "2.0" || method != CallToolRequestMethod::VALUE {
            return None;
        }
        let CallParams { name, arguments, meta } = params;
        let meta = RequestMetaObject::from(meta.unwrap_or_default());
        if meta.contains_key(PROGRESS_TOKEN) {
            return None;
        }
        Some(Self { id, name, arguments: arguments.unwrap_or_default(), meta })
    }

    pub(in crate::transports) fn id(&self) -> &RequestId {
        &self.id
    }

    pub(in crate::transports) fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if the request names neither a protocol version nor a client, as in a session.
    pub(in crate::transports) fn belongs_to_session(&self) -> bool {
        !self.meta.keys().any(|key| key.starts_with(PROTOCOL_META))
    }

    /// Returns the client of a request of the revision 2026-07-28, or `None` if the request lacks what that requires.
    pub(in crate::transports) fn stateless_client(&self) -> Option<DirectClient> {
        let version = self.meta.protocol_version()?;
        if version != ProtocolVersion::V_2026_07_28 {
            return None;
        }
        let capabilities = to_capabilities(&self.meta.client_capabilities()?);
        let input = RoundInput { capabilities, ..RoundInput::default() };
        let name = self.meta.client_info().as_ref().map(format_client);
        Some(DirectClient { name, channel: ElicitationChannel::MultiRound(input), is_typed: true })
    }
}

impl DirectClient {
    /// Returns the client of a handshake, or `None` if it may be asked during a call.
    pub(in crate::transports) fn from_handshake(client: &InitializeRequestParams) -> Option<Self> {
        let is_stateless =
            client.protocol_version.as_str() >= ProtocolVersion::V_2026_07_28.as_str();
        let can_be_asked = to_capabilities(&client.capabilities) != ClientCapabilities::default();
        let name = Some(format_client(&client.client_info));
        let channel = ElicitationChannel::Unavailable;
        (!is_stateless && !can_be_asked).then_some(Self { name, channel, is_typed: false })
    }
}

impl McpService {
    /// Prepares a call over a local connection. Returns `None` if only the SDK can answer it.
    pub(in crate::transports) fn prepare_local(
        &self,
        call: DirectCall,
        client: &DirectClient,
    ) -> Option<DirectRun> {
        self.prepare_direct(call, self.caller.clone(), client)
    }

    /// Prepares a call of a client. Returns `None` if only the SDK can answer it.
    pub(in crate::transports) fn prepare_direct(
        &self,
        call: DirectCall,
        caller: Caller,
        client: &DirectClient,
    ) -> Option<DirectRun> {
        let DirectCall { id, name, arguments, meta } = call;
        let mut caller = Caller { client: client.name.clone(), ..caller };
        if let Some(handle) = session::session_from_meta(&meta).ok()? {
            caller.session = Some(handle);
        }
        let cancel = CancellationToken::new();
        let call = ToolCall {
            caller,
            origin: self.origin,
            channel: client.channel.clone(),
            progress: None,
            cancel: cancel.clone(),
            traceparent: meta.get_traceparent().map(str::to_owned),
            subject: CallSubject::Tool(name),
            arguments,
        };
        let (pipeline, is_typed) = (Arc::clone(&self.pipeline), client.is_typed);
        let answer = Box::pin(async move {
            let reply = pipeline.call(call).await;
            DirectAnswer::new(&id, write_result(reply, is_typed))
        });
        Some(DirectRun { answer, cancel })
    }

    /// Records that the client is active.
    pub(in crate::transports) fn record_activity(&self) {
        self.subscriptions.record_activity();
    }

    /// Returns true if arguments of the tool may be repeated in headers, which the SDK checks.
    pub(in crate::transports) fn has_header_arguments(&self, tool: &str) -> bool {
        self.listings.get_or_build(&self.pipeline).has_header_arguments(tool)
    }

    /// Returns a service whose sessions are observed.
    pub(in crate::transports) fn with_observer(
        mut self,
        observer: Arc<dyn SessionObserver>,
    ) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Reports a client that has finished its handshake, unless it may be asked during a call.
    pub(super) fn report_handshake(&self, context: &NotificationContext<RoleServer>) {
        let Some((observer, headers)) = self.find_observer(context) else { return };
        let client = context.peer.peer_info();
        if let Some(client) = client.and_then(|client| DirectClient::from_handshake(&client)) {
            observer.on_handshake(headers, self.clone(), client);
        }
    }

    /// Reports a request that the client has cancelled.
    pub(super) fn report_cancellation(
        &self,
        request: &RequestId,
        context: &NotificationContext<RoleServer>,
    ) {
        if let Some((observer, headers)) = self.find_observer(context) {
            observer.on_cancellation(headers, request);
        }
    }

    fn find_observer<'a>(
        &'a self,
        context: &'a NotificationContext<RoleServer>,
    ) -> Option<(&'a dyn SessionObserver, &'a HeaderMap)> {
        let parts = context.extensions.get::<http::request::Parts>()?;
        Some((self.observer.as_deref()?, &parts.headers))
    }
}

impl DirectAnswer {
    fn new(id: &RequestId, result: Result<String, ErrorData>) -> Self {
        let (message, error) = match result {
            Ok(result) => (write_message(id, &result), None),
            Err(error) => {
                let code = error.code;
                (serde_json::to_vec(&JsonRpcError::new(Some(id.clone()), error)), Some(code))
            }
        };
        Self { message: message.expect("a JSON value always serializes"), error }
    }
}

fn write_message(id: &RequestId, result: &str) -> serde_json::Result<Vec<u8>> {
    let mut message = Vec::with_capacity(result.len() + 64);
    message.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    serde_json::to_writer(&mut message, id)?;
    message.extend_from_slice(br#","result":"#);
    message.extend_from_slice(result.as_bytes());
    message.push(b'}');
    Ok(message)
}

/// Returns the self-reported name of a client.
pub(super) fn format_client(client: &Implementation) -> Arc<str> {
    format!("{}/{}", client.name, client.version).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(params: &str) -> Option<DirectCall> {
        let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        DirectCall::parse(call.as_bytes())
    }

    #[test]
    fn parses_plain_tool_calls() {
        let call = parse(r#"{"name":"t","arguments":{"a":"\n"},"_meta":{"x":{}}}"#).unwrap();
        assert_eq!((call.name(), call.id()), ("t", &RequestId::Number(1)));
        assert_eq!(serde_json::to_string(&call.arguments).unwrap(), r#"{"a":"\n"}"#);
        assert!(call.belongs_to_session() && call.stateless_client().is_none());
        for params in [r#"{"name":"t"}"#, r#"{"name":"t","arguments":null,"_meta":null}"#] {
            assert!(parse(params).unwrap().arguments.is_empty());
        }
    }

    #[test]
    fn leaves_unusual_messages_to_the_sdk() {
        for params in [
            r#"{"arguments":{}}"#,
            r#"{"name":"t","arguments":[]}"#,
            r#"{"name":"t","_meta":[]}"#,
            r#"{"name":"t","_meta":{"progressToken":1}}"#,
            r#"{"name":"t","requestState":"s"}"#,
            r#"{"name":"t","inputResponses":{}}"#,
            r#"{"name":"t","task":{}}"#,
            r#"{"name":"t","n\u0061me":"u"}"#,
            r#"["t",{}]"#,
            r#"["t",{},{}]"#,
        ] {
            assert!(parse(params).is_none(), "{params}");
        }
        for message in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"name":"\"tools/call\""}}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"t"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"},"err\u006fr":{}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"t"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}} 1"#,
            r#"["2.0",1,"tools/call",{"name":"t"}]"#,
            r#"["2.0",1,"tools/call",["t",{},{}]]"#,
        ] {
            assert!(DirectCall::parse(message.as_bytes()).is_none(), "{message}");
        }
    }

    #[test]
    fn stateless_client_needs_its_version_and_capabilities() {
        const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
        const ABILITIES: &str =
            r#""io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{}}"#;
        let client = |meta: &str| {
            let call = parse(&format!(r#"{{"name":"t","_meta":{{{meta}}}}}"#)).unwrap();
            assert_eq!(call.belongs_to_session(), meta.is_empty());
            call.stateless_client()
        };
        let found = client(&format!("{VERSION},{ABILITIES}")).unwrap();
        let declared =
            ClientCapabilities { elicitation: true, roots: true, ..ClientCapabilities::default() };
        assert_eq!(found.channel.capabilities(), declared);
        for meta in
            ["", VERSION, ABILITIES, &format!("{ABILITIES},{VERSION}").replace("2026", "2099")]
        {
            assert!(client(meta).is_none(), "{meta}");
        }
    }
}
