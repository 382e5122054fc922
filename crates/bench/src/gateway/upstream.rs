//! The servers behind the gateways: which, how they are reached, and which tool of theirs is called.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::front::free_port;
use super::tree::Tree;
use crate::process::Server;
use xtask::command::root;

const EVERYTHING: &str = "e2e/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
/// It would listen on every interface otherwise, as supergateway would.
pub(super) const LOOPBACK: &str = "e2e/support/loopback.mjs";
/// Every stage stays on; only the number is raised, or the limit would be what is measured.
const RATE: u32 = 4_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The reference server, in Node; its `echo` has no output schema, so an overlay supplies one.
    Everything,
    /// Our own server, which costs little itself, so what the gateways add stands out.
    Own,
}

/// A server to put a gateway in front of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Upstream {
    pub(super) kind: Kind,
    /// Over HTTP, or else as a child over stdio.
    pub(super) http: bool,
}

/// What all runs share: programs, a folder for files, and the servers that are reached over HTTP.
pub(super) struct Scene {
    pub(super) binaries: PathBuf,
    pub(super) node: PathBuf,
    /// What clients with a handshake speak over HTTP.
    pub(super) revision: String,
    /// Before the folder: the servers end first.
    listening: Vec<(Kind, Tree)>,
    pub(super) folder: tempfile::TempDir,
}

impl Scene {
    pub(super) fn new(binaries: PathBuf, revision: &str) -> Result<Self> {
        // Configurations name programs from other folders.
        let node = xtask::install::node()?;
        let node = if node.components().count() > 1 { node } else { found_in_path(&node)? };
        let folder = tempfile::tempdir()?;
        let mut scene =
            Self { binaries, node, revision: revision.to_owned(), folder, listening: Vec::new() };
        scene.own_root("own")?;
        let log = scene.folder.path().join("everything.log");
        let port = free_port()?;
        let mut everything = Command::new(&scene.node);
        everything.arg("--import").arg(root().join(LOOPBACK)).arg(root().join(EVERYTHING));
        everything.arg("streamableHttp").env("PORT", port.to_string());
        let everything = Tree::new(Server::listening(&mut everything, port, &log)?, &[]);
        let mut own = Command::new(scene.vouch());
        own.args(["serve", "--port", "0", "--root"]).arg(scene.own_root("own-http")?);
        let own = Tree::new(Server::http(&mut own)?, &[]);
        scene.listening = vec![(Kind::Everything, everything), (Kind::Own, own)];
        Ok(scene)
    }

    pub(super) fn vouch(&self) -> PathBuf {
        self.binaries.join("vouch")
    }

    /// A project for a server of ours, whose tool may be called as often as one likes.
    pub(super) fn own_root(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.path().join(name);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("vouch.toml"), format!("[tools.hello]\nrate_per_minute = {RATE}\n"))?;
        Ok(folder)
    }

    /// What a client or gateway starts.
    pub(super) fn command(&self, kind: Kind) -> Vec<String> {
        match kind {
            Kind::Everything => {
                vec![shown(&self.node), shown(&root().join(EVERYTHING)), "stdio".into()]
            }
            Kind::Own => own_command(&self.vouch(), &self.folder.path().join("own")),
        }
    }

    /// Where the server listens that was started over HTTP.
    pub(super) fn address(&self, kind: Kind) -> Result<&str> {
        let found = self.listening.iter().find(|(it, _)| *it == kind);
        found.and_then(|(_, tree)| tree.server.address.as_deref()).context("no such server")
    }
}

impl Kind {
    pub(super) fn tool(self) -> (&'static str, Value) {
        match self {
            Self::Everything => ("echo", json!({"message": "bench"})),
            Self::Own => ("hello", json!({"name": "bench"})),
        }
    }

    /// The overlay that our gateway needs for the tool.
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
            (Kind::Everything, false) => "server-everything, stdio",
            (Kind::Everything, true) => "server-everything, HTTP",
            (Kind::Own, false) => "vouch serve, stdio",
            (Kind::Own, true) => "vouch serve, HTTP",
        }
    }
}

/// A server of ours over stdio.
pub(super) fn own_command(vouch: &Path, folder: &Path) -> Vec<String> {
    vec![shown(vouch), "serve".into(), "--stdio".into(), "--root".into(), shown(folder)]
}

pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn found_in_path(program: &Path) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates = std::env::split_paths(&path).map(|folder| folder.join(program));
    candidates.find(|file| file.is_file()).with_context(|| format!("no {}", program.display()))
}
