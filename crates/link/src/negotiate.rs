//! Agreeing on a protocol revision: `server/discover` first, `initialize` for servers that do not know it.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::error::Fail;
use crate::session::{Meta, Request, Wire, capabilities, client_info};
use crate::{Abilities, Era, LinkError, Server, envelope, scan};

pub(crate) const STATELESS: &str = "2026-07-28";
const HANDSHAKE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// A server of old that does not answer an unknown request costs this much, once.
const MAX_PROBE: Duration = Duration::from_secs(3);

/// `UnsupportedProtocolVersion`, since 2026-07-28.
const UNSUPPORTED_VERSION: i64 = -32022;

const SHOWN_NAME: usize = 128;

pub(crate) struct Agreed {
    pub(crate) server: Server,
    /// The server says when its tools change.
    pub(crate) list_changed: bool,
    pub(crate) has_tools: bool,
}

/// `known` is what worked with this server before.
pub(crate) async fn negotiate(
    wire: &Wire,
    context: &Context,
    known: Option<Era>,
    limit: Duration,
) -> Result<Agreed, LinkError> {
    if known == Some(Era::Handshake) {
        return initialize_or_discover(wire, context).await;
    }
    let probe = tokio::time::timeout(MAX_PROBE.min(limit / 3), discover(wire, context)).await;
    match probe {
        Ok(Ok(Some(agreed))) => Ok(agreed),
        // Some servers of old fail rather than refuse. What broke for another reason breaks again.
        Ok(Err(LinkError::Unavailable { may_have_run: true, .. }))
            if matches!(wire, Wire::Http(_)) =>
        {
            initialize(wire, context).await
        }
        Ok(Err(error)) => Err(error),
        Ok(Ok(None)) => initialize(wire, context).await,
        // Silent, or only slow to start.
        Err(_) => initialize_or_discover(wire, context).await,
    }
}

/// A server that refuses the handshake may be one that has left it behind.
async fn initialize_or_discover(wire: &Wire, context: &Context) -> Result<Agreed, LinkError> {
    match initialize(wire, context).await {
        Err(refused @ LinkError::Rejected { .. }) => discover(wire, context).await?.ok_or(refused),
        other => other,
    }
}

/// None: the server answers, but does not speak the stateless revision.
async fn discover(wire: &Wire, context: &Context) -> Result<Option<Agreed>, LinkError> {
    let result = match ask_to_discover(wire, context).await {
        // Whoever knows this error speaks of revisions, so it is no server of old: it is asked once more.
        Err(Fail::Final(LinkError::Rejected { code: UNSUPPORTED_VERSION, .. })) => {
            ask_to_discover(wire, context).await
        }
        other => other,
    };
    let result = match result {
        Ok(result) => result,
        Err(
            Fail::Final(LinkError::Rejected { .. } | LinkError::Malformed { .. }) | Fail::Forgotten,
        ) => {
            return Ok(None);
        }
        Err(fail) => return Err(fail.into_error()),
    };
    let Ok(found) = read::<Discovered>(context, &result) else { return Ok(None) };
    if !found.supported_versions.iter().any(|version| version == STATELESS) {
        return Ok(None);
    }
    let info = found.meta.get("io.modelcontextprotocol/serverInfo").cloned();
    let info = info.and_then(|info| serde_json::from_value(info).ok()).unwrap_or_default();
    Ok(Some(agree(context, info, STATELESS, Era::Stateless, &found.capabilities)))
}

async fn ask_to_discover(wire: &Wire, context: &Context) -> Result<Box<RawValue>, Fail> {
    let params = json!({ "_meta": Meta::new(STATELESS, Abilities::default()) });
    let mut request = Request::new(context.next_id(), "server/discover", params);
    request.protocol = Some((STATELESS, Era::Stateless));
    wire.request(request).await
}

async fn initialize(wire: &Wire, context: &Context) -> Result<Agreed, LinkError> {
    // A call that cannot be asked is asked nothing (`question`); the handshake can only speak for all of them.
    let abilities = Abilities { elicitation: true, ..Abilities::default() };
    let params = json!({
        "protocolVersion": HANDSHAKE[0],
        "capabilities": capabilities(abilities),
        "clientInfo": client_info(),
    });
    let request = Request::new(context.next_id(), "initialize", params);
    let result = wire.request(request).await.map_err(Fail::into_error)?;
    let found: Initialized = read(context, &result)?;
    let version = found.protocol_version.as_str();
    let Some(protocol) = HANDSHAKE.into_iter().find(|known| *known == version) else {
        let version = context.shown(version, SHOWN_NAME);
        return Err(LinkError::malformed(format!("it speaks the unknown revision {version}")));
    };
    let initialized = envelope::note("notifications/initialized", json!({}));
    wire.notify(initialized, protocol).await.map_err(Fail::into_error)?;
    Ok(agree(context, found.server_info, protocol, Era::Handshake, &found.capabilities))
}

fn agree(context: &Context, info: Info, protocol: &str, era: Era, capabilities: &Value) -> Agreed {
    let server = Server {
        name: context.shown(&info.name, SHOWN_NAME),
        version: context.shown(&info.version, SHOWN_NAME),
        protocol: protocol.to_owned(),
        era,
    };
    let tools = &capabilities["tools"];
    Agreed { server, list_changed: tools["listChanged"] == true, has_tools: tools.is_object() }
}

fn read<T: DeserializeOwned>(context: &Context, result: &RawValue) -> Result<T, LinkError> {
    scan::check_depth(result.get(), context.bounds.max_depth)?;
    serde_json::from_str(result.get())
        .map_err(|_| LinkError::malformed("its answer to the first request cannot be read"))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discovered {
    supported_versions: Vec<String>,
    #[serde(default)]
    capabilities: Value,
    #[serde(default, rename = "_meta")]
    meta: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: String,
    #[serde(default)]
    capabilities: Value,
    #[serde(default)]
    server_info: Info,
}

#[derive(Default, Deserialize)]
struct Info {
    #[serde(default)]
    name: String,
    #[serde(default)]
    version: String,
}
