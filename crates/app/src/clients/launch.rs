//! Connections from a client to this project: by starting `vouch` over stdio, or at a URL.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use store::ProjectToken;

use crate::config::Settings;
use crate::env::{EnvVar, Environment};

/// The connection from a client to this server.
#[derive(Clone, Debug)]
pub enum ClientConnection {
    Stdio(LaunchCommand),
    Http { url: String, token: ClientToken },
}

/// The token that a client sends.
#[derive(Clone, Debug)]
pub enum ClientToken {
    /// The server requires none.
    None,
    /// The client reads it from its environment, from VOUCH_TOKEN.
    Variable,
    /// It is in the client's configuration.
    Secret(ProjectToken),
}

impl ClientConnection {
    /// Returns the connection over HTTP to this address, with the token in the client's environment.
    pub fn over_http(settings: &Settings, address: SocketAddr) -> Self {
        let token =
            settings.server.token.as_ref().map_or(ClientToken::None, |_| ClientToken::Variable);
        Self::Http { url: server_url(settings, address), token }
    }
}

/// Returns the MCP URL of a server with these settings for a client on this machine.
pub fn server_url(settings: &Settings, address: SocketAddr) -> String {
    let url = local_url(address);
    match &settings.http.tls {
        Some(_) => url.replacen("http://", "https://", 1),
        None => url,
    }
}

/// Returns the MCP URL for a client on this machine; an unspecified address becomes loopback.
pub fn local_url(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        let loopback = if address.is_ipv4() {
            [127, 0, 0, 1].into()
        } else {
            std::net::Ipv6Addr::LOCALHOST.into()
        };
        address.set_ip(loopback);
    }
    format!("http://{address}/mcp")
}

/// The command that serves this project over stdio.
#[derive(Clone, Debug)]
pub struct LaunchCommand {
    pub program: String,
    root: PathBuf,
    /// Configuration file, if one was given on the command line.
    config: Option<PathBuf>,
    /// Subcommand: `serve` or `gateway`.
    command: &'static str,
}

impl LaunchCommand {
    /// Returns the command for this project; `config` is the file named on the command line.
    pub fn new(settings: &Settings, config: Option<&Path>, environment: &Environment) -> Self {
        Self {
            program: program_name(environment),
            root: settings.root.clone(),
            config: config.map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned())),
            command: "serve",
        }
    }

    /// Returns the command for `vouch gateway` instead of `vouch serve`.
    pub fn for_gateway(self) -> Self {
        Self { command: "gateway", ..self }
    }

    /// Returns the arguments. `root_word` is the client's placeholder for the project; a global file needs the path.
    pub(super) fn arguments(&self, root_word: Option<&str>, global: bool) -> Vec<String> {
        let mut arguments = Vec::new();
        let root = root_word.map(str::to_owned);
        let root = root.or_else(|| global.then(|| self.root.display().to_string()));
        if let Some(root) = root {
            arguments.extend(["--root".to_owned(), root]);
        }
        if let Some(config) = &self.config {
            arguments.extend(["--config".to_owned(), config.display().to_string()]);
        }
        arguments.extend([self.command.to_owned(), "--stdio".to_owned()]);
        arguments
    }

    /// Returns the command line for a shell, independent of the current folder.
    pub(super) fn command_line(&self) -> String {
        let words = self.arguments(None, true);
        let words = std::iter::once(&self.program).chain(&words).map(|word| quote_word(word));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Returns `vouch` if that name resolves to this executable on `PATH`, else the executable's path.
fn program_name(environment: &Environment) -> String {
    let Ok(this) = std::env::current_exe() else { return "vouch".to_owned() };
    let this = this.canonicalize().unwrap_or(this);
    let path = environment.get(EnvVar::Path).unwrap_or_default();
    let found = std::env::split_paths(path)
        .filter_map(|folder| folder.join("vouch").canonicalize().ok())
        .next();
    if found.is_some_and(|found| found == this) {
        "vouch".to_owned()
    } else {
        this.display().to_string()
    }
}

/// Quotes a word for a POSIX shell.
pub(crate) fn quote_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
