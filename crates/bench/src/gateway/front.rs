//! What a client talks to: the server itself, our gateway, or a peer in front of the server.
//!
//! Peers run as their manuals start them, with logging off. None of them validates anything.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use super::client::Client;
use super::config::{self, Entry, quoted};
use super::peers::Peers;
use super::session::{Era, Session};
use super::tree::Tree;
use super::upstream::{Kind, LOOPBACK, Scene, Upstream};
use crate::load::Pipes;
use crate::process::Server;
use xtask::command::root;

const FASTMCP: &str = "crates/bench/src/gateway/fastmcp_proxy.py";
/// How long a gateway may take until it offers the tools of the server behind it.
const READY_LIMIT: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Front {
    Direct,
    Vouch(Door),
    McpProxy,
    Supergateway,
    FastMcp,
}

/// The doors of our gateway; each peer has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    Stdio,
    Http,
    /// HTTP without a session, in the revision 2026-07-28, which no peer speaks to a handshake server.
    Stateless,
}

pub(super) const FRONTS: [Front; 7] = [
    Front::Direct,
    Front::Vouch(Door::Http),
    Front::Vouch(Door::Stateless),
    Front::Vouch(Door::Stdio),
    Front::McpProxy,
    Front::Supergateway,
    Front::FastMcp,
];

/// A front that was started, and a client that may call the tool.
pub(super) struct Running {
    /// None where the client talks to a server that others use, too.
    pub(super) tree: Option<Tree>,
    pub(super) client: Client,
    /// The name of the tool here; gateways put something before it.
    pub(super) tool: String,
}

impl Front {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Vouch(_) => "vouch gateway",
            Self::McpProxy => "mcp-proxy",
            Self::Supergateway => "supergateway",
            Self::FastMcp => "FastMCP proxy",
        }
    }

    /// The door in front. Supergateway has always the other one than behind.
    pub(super) fn door(self, upstream: Upstream) -> &'static str {
        match self {
            Self::Direct if upstream.http => "HTTP",
            Self::Direct | Self::Vouch(Door::Stdio) => "stdio",
            Self::Vouch(Door::Stateless) => "HTTP 2026-07-28",
            Self::Supergateway if upstream.http => "stdio",
            _ => "HTTP",
        }
    }

    pub(super) fn is_peer(self) -> bool {
        !matches!(self, Self::Direct | Self::Vouch(_))
    }

    pub(super) fn start(self, scene: &Scene, peers: &Peers, upstream: Upstream) -> Result<Running> {
        let child = if upstream.http { Vec::new() } else { scene.command(upstream.kind) };
        let (tree, mut client) = match self {
            Self::Direct if upstream.http => {
                (None, http(scene.address(upstream.kind)?, "/mcp", behind(scene, upstream.kind))?)
            }
            Self::Direct => over_stdio(command_of(&child), &[])?,
            Self::Vouch(door) => {
                let entry = Entry::compared(scene, upstream)?;
                let name = format!("{}-{door:?}", upstream.name());
                vouch(scene, &config::write(scene, &name, &[entry])?, door, &child)?
            }
            Self::McpProxy => mcp_proxy(scene, peers, upstream, &child)?,
            Self::Supergateway => supergateway(scene, peers, upstream, &child)?,
            Self::FastMcp => fastmcp(scene, peers, upstream, &child)?,
        };
        let tool = ready(&mut client, upstream.kind.tool().0)?;
        Ok(Running { tree, client, tool })
    }
}

/// Our gateway in this folder, and a client at this door.
pub(super) fn vouch(
    scene: &Scene,
    folder: &Path,
    door: Door,
    child: &[String],
) -> Result<(Option<Tree>, Client)> {
    let mut command = Command::new(scene.vouch());
    command.arg("gateway").arg("--root").arg(folder).current_dir(folder);
    let era = match door {
        Door::Stdio => {
            command.arg("--stdio");
            return over_stdio(command, child);
        }
        Door::Http => handshake(scene),
        Door::Stateless => Era::Stateless,
    };
    let tree = Tree::new(Server::http(command.args(["--port", "0"]))?, child);
    let client = http(tree.server.address.as_deref().context("no address")?, "/mcp", era)?;
    Ok((Some(tree), client))
}

fn mcp_proxy(
    scene: &Scene,
    peers: &Peers,
    upstream: Upstream,
    child: &[String],
) -> Result<(Option<Tree>, Client)> {
    let program = peers.mcp_proxy.as_ref().context("it is not installed")?;
    let port = free_port()?;
    let reach = match child {
        [] => format!(
            "transport = \"http\"\nurl = {}",
            quoted(&format!("http://{}/mcp", scene.address(upstream.kind)?))
        ),
        [command, args @ ..] => {
            let args: Vec<_> = args.iter().map(|it| quoted(it)).collect();
            format!(
                "transport = \"stdio\"\ncommand = {}\nargs = [{}]",
                quoted(command),
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
    over_http(scene, command, port, "/", child)
}

fn supergateway(
    scene: &Scene,
    peers: &Peers,
    upstream: Upstream,
    child: &[String],
) -> Result<(Option<Tree>, Client)> {
    let script = peers.supergateway.as_ref().context("it is not installed")?;
    let mut command = Command::new(&scene.node);
    command.arg("--import").arg(root().join(LOOPBACK)).arg(script).args(["--logLevel", "none"]);
    if upstream.http {
        command.arg("--streamableHttp");
        command.arg(format!("http://{}/mcp", scene.address(upstream.kind)?));
        return over_stdio(command, child);
    }
    let port = free_port()?;
    command.arg("--stdio").arg(child.join(" "));
    command.args(["--outputTransport", "streamableHttp", "--stateful", "--port"]);
    command.arg(port.to_string());
    over_http(scene, command, port, "/mcp", child)
}

fn fastmcp(
    scene: &Scene,
    peers: &Peers,
    upstream: Upstream,
    child: &[String],
) -> Result<(Option<Tree>, Client)> {
    let python = peers.fastmcp.as_ref().context("it is not installed")?;
    let target = match child {
        [] => json!(format!("http://{}/mcp", scene.address(upstream.kind)?)),
        [command, args @ ..] => json!({"mcpServers": {"up": {"command": command, "args": args}}}),
    };
    let port = free_port()?;
    let mut command = Command::new(python);
    command.arg(root().join(FASTMCP)).arg(target.to_string()).arg(port.to_string());
    over_http(scene, command, port, "/mcp", child)
}

fn over_http(
    scene: &Scene,
    mut command: Command,
    port: u16,
    path: &'static str,
    child: &[String],
) -> Result<(Option<Tree>, Client)> {
    let log = scene.folder.path().join(format!("{port}.log"));
    let tree = Tree::new(Server::listening(&mut command, port, &log)?, child);
    let client = http(&format!("127.0.0.1:{port}"), path, handshake(scene))?;
    Ok((Some(tree), client))
}

fn over_stdio(mut command: Command, child: &[String]) -> Result<(Option<Tree>, Client)> {
    let (server, input, output) = Server::stdio(&mut command)?;
    let tree = Tree::new(server, child);
    Ok((Some(tree), Client::Pipes(Pipes::open(input, output)?)))
}

fn http(address: &str, path: &'static str, era: Era) -> Result<Client> {
    Ok(Client::Http(Box::new(Session::open(address, path, era)?)))
}

/// What our gateway agrees on with the server. With server-everything it is a revision in which the server itself takes a
/// millisecond longer, so that a direct call in an older one would not tell what the gateway adds.
fn behind(scene: &Scene, kind: Kind) -> Era {
    match kind {
        Kind::Everything => Era::Handshake("2025-11-25".to_owned()),
        Kind::Own => handshake(scene),
    }
}

fn handshake(scene: &Scene) -> Era {
    Era::Handshake(scene.revision.clone())
}

fn command_of(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// Waits until the tool is offered, and gives the name that it has here.
fn ready(client: &mut Client, tool: &str) -> Result<String> {
    let is_it = |name: &str| {
        name.strip_suffix(tool).is_some_and(|prefix| prefix.is_empty() || prefix.ends_with('_'))
    };
    Ok(client.wait_for(1, is_it, READY_LIMIT)?.swap_remove(0))
}

/// A port that was free a moment ago, for servers that cannot choose one and say which.
pub(super) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
