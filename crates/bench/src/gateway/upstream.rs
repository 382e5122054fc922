//! The upstream servers: how they are reached, and which of their tools is called.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::front::find_free_port;
use super::tree::ProcessTree;
use crate::process::ServerProcess;
use xtask::command::root;

const EVERYTHING: &str = "e2e/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
/// Makes servers listen on loopback; server-everything and supergateway listen on every interface otherwise.
pub(super) const LOOPBACK: &str = "e2e/support/loopback.mjs";
/// Every stage stays on. The rate limit is raised, because otherwise it would be measured.
const RATE: u32 = 4_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpstreamKind {
    /// The reference server, in Node; its `echo` has no output schema, so an overlay supplies one.
    Everything,
    /// Our own server, which costs little, so that the cost of gateways is visible.
    Own,
}

/// A server to put a gateway in front of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Upstream {
    pub(super) kind: UpstreamKind,
    /// Over HTTP, or else as a child over stdio.
    pub(super) http: bool,
}

/// Shared by all runs: programs, a folder for files, and the servers that are reached over HTTP.
pub(super) struct GatewayScene {
    pub(super) binaries: PathBuf,
    /// Folder with `vouch` of an earlier build.
    pub(super) before: Option<PathBuf>,
    pub(super) node: PathBuf,
    /// Protocol revision of clients with a handshake over HTTP.
    pub(super) revision: String,
    /// Declared before the folder, so that the servers end first.
    listening: Vec<(UpstreamKind, ProcessTree)>,
    pub(super) folder: tempfile::TempDir,
}

impl GatewayScene {
    pub(super) fn new(binaries: PathBuf, before: Option<PathBuf>, revision: &str) -> Result<Self> {
        // Configurations need an absolute path.
        let node = xtask::install::node()?;
        let node = if node.components().count() > 1 { node } else { find_in_path(&node)? };
        let folder = tempfile::tempdir()?;
        let (revision, listening) = (revision.to_owned(), Vec::new());
        let mut scene = Self { binaries, before, node, revision, folder, listening };
        scene.own_root("own")?;
        let log = scene.folder.path().join("everything.log");
        let port = find_free_port()?;
        let mut everything = Command::new(&scene.node);
        everything.arg("--import").arg(root().join(LOOPBACK)).arg(root().join(EVERYTHING));
        everything.arg("streamableHttp").env("PORT", port.to_string());
        let everything =
            ProcessTree::new(ServerProcess::start_on_port(&mut everything, port, &log)?, &[]);
        let mut own = Command::new(scene.vouch());
        own.env("VOUCH_TRUST", "1").env("XDG_STATE_HOME", scene.folder.path().join("own-state"));
        // The peers that are compared send no token.
        own.args(["serve", "--port", "0", "--no-token", "--root"]).arg(scene.own_root("own-http")?);
        let own = ProcessTree::new(ServerProcess::start_http(&mut own)?, &[]);
        scene.listening = vec![(UpstreamKind::Everything, everything), (UpstreamKind::Own, own)];
        Ok(scene)
    }

    pub(super) fn vouch(&self) -> PathBuf {
        self.binaries.join("vouch")
    }

    /// Creates a project for our server, with a raised rate limit.
    pub(super) fn own_root(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.path().join(name);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("vouch.toml"), format!("[tools.hello]\nrate_per_minute = {RATE}\n"))?;
        Ok(folder)
    }

    /// Returns the command that a client or gateway starts.
    pub(super) fn command(&self, kind: UpstreamKind) -> Vec<String> {
        match kind {
            UpstreamKind::Everything => {
                vec![
                    path_to_string(&self.node),
                    path_to_string(&root().join(EVERYTHING)),
                    "stdio".into(),
                ]
            }
            UpstreamKind::Own => own_command(&self.vouch(), &self.folder.path().join("own")),
        }
    }

    /// Returns the address of the server that was started over HTTP.
    pub(super) fn address(&self, kind: UpstreamKind) -> Result<&str> {
        let found = self.listening.iter().find(|(it, _)| *it == kind);
        found.and_then(|(_, tree)| tree.server.address.as_deref()).context("server not started")
    }
}

impl UpstreamKind {
    pub(super) fn tool(self) -> (&'static str, Value) {
        match self {
            Self::Everything => ("echo", json!({"message": "bench"})),
            Self::Own => ("hello", json!({"name": "bench"})),
        }
    }

    /// Returns the overlay that our gateway needs for the tool.
    pub(super) fn overlay(self) -> Value {
        let constraints = json!({"ratePerMinute": RATE});
        match self {
            Self::Everything => json!({
                "description": "Gives a message back, with `Echo: ` before it.",
                "outputSchema": {
                    "type": "object",
                    "properties": {"text": {
                        "type": "string",
                        "description": "The message, with `Echo: ` before it",
                        "pattern": "^Echo: ",
                    }},
                    "required": ["text"],
                    "additionalProperties": false,
                },
                "result": "text",
                "constraints": constraints,
            }),
            Self::Own => json!({"constraints": constraints}),
        }
    }
}

impl Upstream {
    pub(super) fn name(self) -> &'static str {
        match (self.kind, self.http) {
            (UpstreamKind::Everything, false) => "server-everything, stdio",
            (UpstreamKind::Everything, true) => "server-everything, HTTP",
            (UpstreamKind::Own, false) => "vouch serve, stdio",
            (UpstreamKind::Own, true) => "vouch serve, HTTP",
        }
    }
}

/// Returns the command of our server over stdio.
pub(super) fn own_command(vouch: &Path, folder: &Path) -> Vec<String> {
    vec![
        path_to_string(vouch),
        "serve".into(),
        "--stdio".into(),
        "--root".into(),
        path_to_string(folder),
    ]
}

pub(super) fn path_to_string(path: &Path) -> String {
    path.display().to_string()
}

fn find_in_path(program: &Path) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates = std::env::split_paths(&path).map(|folder| folder.join(program));
    candidates
        .find(|file| file.is_file())
        .with_context(|| format!("{} not found in PATH", program.display()))
}
