//! One connection from the agreement on a protocol revision to its end, over whichever wire.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::duplex::Duplex;
use crate::error::Fail;
use crate::flight::{Flight, Listener};
use crate::http::Http;
use crate::stdio::Child;
use crate::{Abilities, Era, LinkError, Server, envelope};

/// A request as a wire takes it: the finished text, and what a wire needs to know besides.
pub(crate) struct Request<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'a str,
    pub(crate) body: Vec<u8>,
    /// None before an agreement.
    pub(crate) protocol: Option<(&'a str, Era)>,
    /// The tool's name, for the header.
    pub(crate) name: Option<&'a str>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) listener: Listener,
    /// Tell the server when the request is dropped.
    pub(crate) cancel: bool,
}

impl<'a> Request<'a> {
    pub(crate) fn new(id: u64, method: &'a str, params: impl Serialize) -> Self {
        Self {
            id,
            method,
            body: envelope::request(id, method, params),
            protocol: None,
            name: None,
            headers: Vec::new(),
            listener: Listener::default(),
            cancel: false,
        }
    }
}

pub(crate) enum Wire {
    Duplex(Duplex),
    Http(Http),
}

impl Wire {
    pub(crate) async fn request(&self, request: Request<'_>) -> Result<Box<RawValue>, Fail> {
        match self {
            Self::Duplex(duplex) => duplex.request(request).await,
            Self::Http(http) => http.request(request).await,
        }
    }

    /// A notification; `protocol` as agreed.
    pub(crate) async fn notify(&self, text: Vec<u8>, protocol: &str) -> Result<(), Fail> {
        match self {
            Self::Duplex(duplex) => duplex.outlet.send(text).await.map(drop),
            Self::Http(http) => http.notify(text, protocol).await,
        }
    }

    pub(crate) fn flight(&self) -> &Arc<Flight> {
        match self {
            Self::Duplex(duplex) => &duplex.flight,
            Self::Http(http) => &http.flight,
        }
    }
}

pub(crate) struct Session {
    pub(crate) wire: Wire,
    pub(crate) server: Server,
    /// It said that it offers tools.
    pub(crate) has_tools: bool,
    /// The child behind a pipe.
    pub(crate) child: Option<Child>,
}

impl Session {
    pub(crate) fn is_open(&self) -> bool {
        self.wire.flight().closed_by().is_none()
    }

    pub(crate) fn protocol(&self) -> (&str, Era) {
        (&self.server.protocol, self.server.era)
    }

    /// What every request of the stateless era says of us.
    pub(crate) fn meta(&self, abilities: Abilities) -> Option<Meta> {
        (self.server.era == Era::Stateless).then(|| Meta::new(&self.server.protocol, abilities))
    }

    /// Stops everything that can be stopped without waiting; a child is left to its keeper.
    pub(crate) fn shut(&self, reason: &LinkError) {
        self.wire.flight().close(reason);
        match &self.wire {
            Wire::Duplex(duplex) => duplex.outlet.close(),
            Wire::Http(http) => http.shut(),
        }
    }

    /// Says goodbye and waits, within limits, until the child is gone.
    pub(crate) async fn close(&self) {
        const GOODBYE: Duration = Duration::from_secs(1);
        if let Wire::Http(http) = &self.wire {
            let _ = tokio::time::timeout(GOODBYE, http.goodbye(&self.server.protocol)).await;
        }
        self.shut(&LinkError::Closed);
        if let Some(child) = &self.child {
            child.ended().await;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shut(&LinkError::Closed);
    }
}

/// Sends what nobody waits for, if anything still runs us; a server that does not take it is left alone.
pub(crate) fn aside<T>(sending: impl Future<Output = T> + Send + 'static) {
    const PATIENCE: Duration = Duration::from_secs(5);
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            let _ = tokio::time::timeout(PATIENCE, sending).await;
        });
    }
}

/// `_meta` of a request.
#[derive(Default, Serialize)]
pub(crate) struct Meta {
    #[serde(
        rename = "io.modelcontextprotocol/protocolVersion",
        skip_serializing_if = "Option::is_none"
    )]
    protocol: Option<String>,
    #[serde(
        rename = "io.modelcontextprotocol/clientInfo",
        skip_serializing_if = "Option::is_none"
    )]
    client: Option<Value>,
    #[serde(
        rename = "io.modelcontextprotocol/clientCapabilities",
        skip_serializing_if = "Option::is_none"
    )]
    capabilities: Option<Value>,
    #[serde(rename = "progressToken", skip_serializing_if = "Option::is_none")]
    pub(crate) progress_token: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) traceparent: Option<String>,
}

impl Meta {
    pub(crate) fn new(protocol: &str, abilities: Abilities) -> Self {
        Self {
            protocol: Some(protocol.to_owned()),
            client: Some(client_info()),
            capabilities: Some(capabilities(abilities)),
            ..Self::default()
        }
    }
}

pub(crate) fn client_info() -> Value {
    json!({ "name": "vouch", "version": env!("CARGO_PKG_VERSION") })
}

pub(crate) fn capabilities(abilities: Abilities) -> Value {
    let mut out = json!({});
    if abilities.elicitation {
        out["elicitation"] = json!({ "form": {} });
    }
    if abilities.sampling {
        out["sampling"] = json!({});
    }
    if abilities.roots {
        out["roots"] = json!({});
    }
    out
}
