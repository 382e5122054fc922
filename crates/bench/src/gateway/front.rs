//! Fronts that a client connects to: the server itself, our gateway, or a peer in front of the server.
//!
//! Peers run as their manuals say, with logging off. No peer validates anything.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use super::client::GatewayClient;
use super::config::{self, UpstreamEntry, quote};
use super::peers::GatewayPeers;
use super::session::{HttpSession, ProtocolEra};
use super::tree::ProcessTree;
use super::upstream::{GatewayScene, LOOPBACK, Upstream, UpstreamKind};
use crate::load::StdioSession;
use crate::process::ServerProcess;
use xtask::command::root;

const FASTMCP: &str = "crates/bench/src/gateway/fastmcp_proxy.py";
/// Time limit for a gateway to offer the tools of its upstream.
const READY_LIMIT: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Front {
    Direct,
    Vouch(GatewayTransport),
    /// Our gateway in an earlier build.
    Before(GatewayTransport),
    McpProxy,
    Supergateway,
    FastMcp,
}

/// Transports of our gateway; each peer has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GatewayTransport {
    Stdio,
    Http,
    /// HTTP without a session, in the revision 2026-07-28, which no peer speaks to a handshake server.
    Stateless,
}

pub(super) const FRONTS: [Front; 10] = [
    Front::Direct,
    Front::Vouch(GatewayTransport::Http),
    Front::Before(GatewayTransport::Http),
    Front::Vouch(GatewayTransport::Stateless),
    Front::Before(GatewayTransport::Stateless),
    Front::Vouch(GatewayTransport::Stdio),
    Front::Before(GatewayTransport::Stdio),
    Front::McpProxy,
    Front::Supergateway,
    Front::FastMcp,
];

/// A started front, with a connected client.
pub(super) struct RunningFront {
    /// `None` if the client uses a shared server.
    pub(super) tree: Option<ProcessTree>,
    pub(super) client: GatewayClient,
    /// Name of the tool at this front; gateways add a prefix.
    pub(super) tool: String,
}

impl Front {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Vouch(_) => "vouch gateway",
            Self::Before(_) => "vouch gateway before",
            Self::McpProxy => "mcp-proxy",
            Self::Supergateway => "supergateway",
            Self::FastMcp => "FastMCP proxy",
        }
    }

    /// Returns the transport between client and front. Supergateway always converts to the other one.
    pub(super) fn transport(self, upstream: Upstream) -> &'static str {
        match self {
            Self::Direct if upstream.http => "HTTP",
            Self::Direct
            | Self::Vouch(GatewayTransport::Stdio)
            | Self::Before(GatewayTransport::Stdio) => "stdio",
            Self::Vouch(GatewayTransport::Stateless)
            | Self::Before(GatewayTransport::Stateless) => "HTTP 2026-07-28",
            Self::Supergateway if upstream.http => "stdio",
            _ => "HTTP",
        }
    }

    /// Returns true if this is the earlier build of the other front.
    pub(super) fn is_before(self, other: Self) -> bool {
        matches!((self, other), (Self::Before(one), Self::Vouch(other)) if one == other)
    }

    pub(super) fn is_peer(self) -> bool {
        !matches!(self, Self::Direct | Self::Vouch(_) | Self::Before(_))
    }

    pub(super) fn start(
        self,
        scene: &GatewayScene,
        peers: &GatewayPeers,
        upstream: Upstream,
    ) -> Result<RunningFront> {
        let child = if upstream.http { Vec::new() } else { scene.command(upstream.kind) };
        let (tree, mut client) = match self {
            Self::Direct if upstream.http => (
                None,
                connect_http(
                    scene.address(upstream.kind)?,
                    "/mcp",
                    upstream_era(scene, upstream.kind),
                )?,
            ),
            Self::Direct => start_stdio_front(build_command(&child), &[])?,
            Self::Vouch(transport) | Self::Before(transport) => {
                let entry = UpstreamEntry::from_upstream(scene, upstream)?;
                let name = format!("{}-{self:?}", upstream.name());
                let folder = config::write_config(scene, &name, &[entry])?;
                let before = scene.before.as_ref().filter(|_| matches!(self, Self::Before(_)));
                let program = before.map_or_else(|| scene.vouch(), |it| it.join("vouch"));
                start_vouch(scene, &program, &folder, transport, &child)?
            }
            Self::McpProxy => start_mcp_proxy(scene, peers, upstream, &child)?,
            Self::Supergateway => start_supergateway(scene, peers, upstream, &child)?,
            Self::FastMcp => start_fastmcp(scene, peers, upstream, &child)?,
        };
        let tool = wait_for_tool(&mut client, upstream.kind.tool().0)?;
        Ok(RunningFront { tree, client, tool })
    }
}

/// Starts our gateway in this folder and connects a client over this transport.
pub(super) fn start_vouch(
    scene: &GatewayScene,
    program: &Path,
    folder: &Path,
    transport: GatewayTransport,
    child: &[String],
) -> Result<(Option<ProcessTree>, GatewayClient)> {
    let mut command = Command::new(program);
    let state = scene.folder.path().join("gateways");
    command.env("VOUCH_TRUST", "1").env("XDG_STATE_HOME", &state).env("XDG_DATA_HOME", &state);
    command.arg("gateway").arg("--root").arg(folder).current_dir(folder);
    let era = match transport {
        GatewayTransport::Stdio => {
            command.arg("--stdio");
            return start_stdio_front(command, child);
        }
        GatewayTransport::Http => handshake_era(scene),
        GatewayTransport::Stateless => ProtocolEra::Stateless,
    };
    let tree = ProcessTree::new(ServerProcess::start_http(command.args(["--port", "0"]))?, child);
    let client = connect_http(tree.server.address.as_deref().context("no address")?, "/mcp", era)?;
    Ok((Some(tree), client))
}

fn start_mcp_proxy(
    scene: &GatewayScene,
    peers: &GatewayPeers,
    upstream: Upstream,
    child: &[String],
) -> Result<(Option<ProcessTree>, GatewayClient)> {
    let program = peers.mcp_proxy.as_ref().context("not installed")?;
    let port = find_free_port()?;
    let reach = match child {
        [] => format!(
            "transport = \"http\"\nurl = {}",
            quote(&format!("http://{}/mcp", scene.address(upstream.kind)?))
        ),
        [command, args @ ..] => {
            let args: Vec<_> = args.iter().map(|it| quote(it)).collect();
            format!(
                "transport = \"stdio\"\ncommand = {}\nargs = [{}]",
                quote(command),
                args.join(", ")
            )
        }
    };
    let file = scene.folder.path().join(format!("mcp-proxy-{port}.toml"));
    fs::write(
        &file,
        format!(
            "[proxy]\nname = \"bench\"\nseparator = \"__\"\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n\
             [[backends]]\nname = \"up\"\n{reach}\n"
        ),
    )?;
    let mut command = Command::new(program);
    command.arg("--config").arg(file).env("RUST_LOG", "error");
    start_http_front(scene, command, port, "/", child)
}

fn start_supergateway(
    scene: &GatewayScene,
    peers: &GatewayPeers,
    upstream: Upstream,
    child: &[String],
) -> Result<(Option<ProcessTree>, GatewayClient)> {
    let script = peers.supergateway.as_ref().context("not installed")?;
    let mut command = Command::new(&scene.node);
    command.arg("--import").arg(root().join(LOOPBACK)).arg(script).args(["--logLevel", "none"]);
    if upstream.http {
        command.arg("--streamableHttp");
        command.arg(format!("http://{}/mcp", scene.address(upstream.kind)?));
        return start_stdio_front(command, child);
    }
    let port = find_free_port()?;
    command.arg("--stdio").arg(child.join(" "));
    command.args(["--outputTransport", "streamableHttp", "--stateful", "--port"]);
    command.arg(port.to_string());
    start_http_front(scene, command, port, "/mcp", child)
}

fn start_fastmcp(
    scene: &GatewayScene,
    peers: &GatewayPeers,
    upstream: Upstream,
    child: &[String],
) -> Result<(Option<ProcessTree>, GatewayClient)> {
    let python = peers.fastmcp.as_ref().context("not installed")?;
    let target = match child {
        [] => json!(format!("http://{}/mcp", scene.address(upstream.kind)?)),
        [command, args @ ..] => json!({"mcpServers": {"up": {"command": command, "args": args}}}),
    };
    let port = find_free_port()?;
    let mut command = Command::new(python);
    command.arg(root().join(FASTMCP)).arg(target.to_string()).arg(port.to_string());
    start_http_front(scene, command, port, "/mcp", child)
}

fn start_http_front(
    scene: &GatewayScene,
    mut command: Command,
    port: u16,
    path: &'static str,
    child: &[String],
) -> Result<(Option<ProcessTree>, GatewayClient)> {
    let log = scene.folder.path().join(format!("{port}.log"));
    let tree = ProcessTree::new(ServerProcess::start_on_port(&mut command, port, &log)?, child);
    let client = connect_http(&format!("127.0.0.1:{port}"), path, handshake_era(scene))?;
    Ok((Some(tree), client))
}

fn start_stdio_front(
    mut command: Command,
    child: &[String],
) -> Result<(Option<ProcessTree>, GatewayClient)> {
    let (server, input, output) = ServerProcess::start_stdio(&mut command)?;
    let tree = ProcessTree::new(server, child);
    Ok((Some(tree), GatewayClient::Stdio(StdioSession::open(input, output)?)))
}

fn connect_http(address: &str, path: &'static str, era: ProtocolEra) -> Result<GatewayClient> {
    Ok(GatewayClient::Http(Box::new(HttpSession::open(address, path, era)?)))
}

/// Returns the protocol era that our gateway uses with the server. In the revision of server-everything the server itself
/// takes a millisecond longer, so a direct call in an older revision would not show what the gateway adds.
fn upstream_era(scene: &GatewayScene, kind: UpstreamKind) -> ProtocolEra {
    match kind {
        UpstreamKind::Everything => ProtocolEra::Handshake("2025-11-25".to_owned()),
        UpstreamKind::Own => handshake_era(scene),
    }
}

fn handshake_era(scene: &GatewayScene) -> ProtocolEra {
    ProtocolEra::Handshake(scene.revision.clone())
}

fn build_command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    // Our server reads its rate limit from the project only if that is trusted.
    command.args(&words[1..]).env("VOUCH_TRUST", "1");
    command
}

/// Waits until the tool is offered, and returns its name at this front.
fn wait_for_tool(client: &mut GatewayClient, tool: &str) -> Result<String> {
    let is_it = |name: &str| {
        name.strip_suffix(tool).is_some_and(|prefix| prefix.is_empty() || prefix.ends_with('_'))
    };
    Ok(client.wait_for_tools(1, is_it, READY_LIMIT)?.swap_remove(0))
}

/// Returns a port that was free a moment ago, for servers that cannot choose one themselves.
pub(super) fn find_free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
