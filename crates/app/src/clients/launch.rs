//! How a client reaches this project: by starting `vouch`, or at a URL.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::config::Settings;
use crate::env::{Environment, Var};

/// How a client reaches this server.
#[derive(Clone, Debug)]
pub enum Way {
    Stdio(Launch),
    Http { url: String, token: bool },
}

impl Way {
    /// Returns the connection over HTTP to this address.
    pub fn http(settings: &Settings, address: SocketAddr) -> Self {
        Self::Http { url: url(address), token: settings.server.token.is_some() }
    }
}

/// The address as a client on this machine reaches it.
pub fn url(mut address: SocketAddr) -> String {
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

/// The command that serves this project on standard input and output.
#[derive(Clone, Debug)]
pub struct Launch {
    pub program: String,
    root: PathBuf,
    /// Only where the command line named one.
    config: Option<PathBuf>,
    /// `serve`, or what else serves on standard input and output.
    command: &'static str,
}

impl Launch {
    /// Returns the command for this project; `config` is the file named on the command line.
    pub fn new(settings: &Settings, config: Option<&Path>, environment: &Environment) -> Self {
        Self {
            program: program(environment),
            root: settings.root.clone(),
            config: config.map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned())),
            command: "serve",
        }
    }

    /// The same for the tools of other servers.
    pub fn of_gateway(self) -> Self {
        Self { command: "gateway", ..self }
    }

    /// `root_word` stands for the project in the client's own file; a file for all projects needs the path.
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

    /// For a shell, from wherever.
    pub(super) fn command_line(&self) -> String {
        let words = self.arguments(None, true);
        let words = std::iter::once(&self.program).chain(&words).map(|word| quote(word));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// `vouch` where the shell finds this very program under that name, else its path.
fn program(environment: &Environment) -> String {
    let Ok(this) = std::env::current_exe() else { return "vouch".to_owned() };
    let this = this.canonicalize().unwrap_or(this);
    let path = environment.get(Var::Path).unwrap_or_default();
    let found = std::env::split_paths(path)
        .filter_map(|folder| folder.join("vouch").canonicalize().ok())
        .next();
    if found.is_some_and(|found| found == this) {
        "vouch".to_owned()
    } else {
        this.display().to_string()
    }
}

/// A word for a POSIX shell.
pub(super) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
