//! The MCP clients that `vouch` knows how to configure: which file, which shape, which command does it for you.
//!
//! Merging into a file that is there is in `json` and `toml`; neither touches anything but our own entry.

pub mod json;
mod launch;
pub mod servers;
pub mod toml;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::{Value, json};

use crate::env::{Environment, Var};
use launch::quote;
pub use launch::{Launch, Way, url};

/// An MCP client that can be configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    ClaudeCode,
    Cursor,
    VsCode,
    Codex,
    ClaudeDesktop,
}

/// How a file keeps its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An object under this key.
    Json(&'static str),
    /// Tables `[mcp_servers.<name>]`.
    Toml,
}

impl Client {
    /// All clients, in the order in which the help lists them.
    pub const ALL: [Self; 5] =
        [Self::ClaudeCode, Self::Cursor, Self::VsCode, Self::Codex, Self::ClaudeDesktop];

    /// The name by which the command line knows the client.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Codex => "codex",
            Self::ClaudeDesktop => "claude-desktop",
        }
    }

    /// Returns the client's name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Codex => "Codex",
            Self::ClaudeDesktop => "Claude Desktop",
        }
    }

    /// Returns the layout of the client's file.
    pub fn shape(self) -> Shape {
        match self {
            Self::ClaudeCode | Self::Cursor | Self::ClaudeDesktop => Shape::Json("mcpServers"),
            Self::VsCode => Shape::Json("servers"),
            Self::Codex => Shape::Toml,
        }
    }

    /// Where the configuration is; None where that needs a home folder and there is none.
    pub fn file(self, root: &Path, environment: &Environment) -> Option<PathBuf> {
        let home = || environment.get(Var::Home).map(PathBuf::from);
        match self {
            Self::ClaudeCode => Some(root.join(".mcp.json")),
            Self::Cursor => Some(root.join(".cursor/mcp.json")),
            Self::VsCode => Some(root.join(".vscode/mcp.json")),
            Self::Codex => {
                let own = environment.get(Var::CodexHome).map(PathBuf::from);
                own.or_else(|| Some(home()?.join(".codex")))
                    .map(|folder| folder.join("config.toml"))
            }
            Self::ClaudeDesktop => {
                let folder = if cfg!(target_os = "macos") {
                    "Library/Application Support/Claude"
                } else {
                    ".config/Claude"
                };
                Some(home()?.join(folder).join("claude_desktop_config.json"))
            }
        }
    }

    /// Every file that may list servers: ours to write, and those of the user, which are only read.
    pub fn files(self, root: &Path, environment: &Environment) -> Vec<PathBuf> {
        let home = environment.get(Var::Home).map(PathBuf::from);
        let own = match self {
            Self::ClaudeCode => home.map(|home| home.join(".claude.json")),
            Self::Cursor => home.map(|home| home.join(".cursor/mcp.json")),
            Self::VsCode | Self::Codex | Self::ClaudeDesktop => None,
        };
        self.file(root, environment).into_iter().chain(own).collect()
    }

    /// How the client's file names the project, so that a file in version control works for everybody.
    fn root_word(self) -> Option<&'static str> {
        match self {
            // It starts servers in the project.
            Self::ClaudeCode => None,
            Self::Cursor | Self::VsCode => Some("${workspaceFolder}"),
            Self::Codex | Self::ClaudeDesktop => None,
        }
    }

    /// True where the file is the user's and serves every project, so that it must name this one.
    fn is_global(self) -> bool {
        matches!(self, Self::Codex | Self::ClaudeDesktop)
    }

    /// Returns true if the client connects over HTTP.
    pub fn speaks_http(self) -> bool {
        self != Self::ClaudeDesktop
    }

    /// The client's entry for this server, as it stands in its file.
    pub fn entry(self, way: &Way) -> Value {
        self.entry_for(way, self.root_word(), self.is_global())
    }

    fn entry_for(self, way: &Way, root_word: Option<&str>, global: bool) -> Value {
        match way {
            Way::Stdio(launch) => {
                let args = launch.arguments(root_word, global);
                let mut entry = json!({"command": launch.program, "args": args});
                if self == Self::VsCode {
                    entry = json!({"type": "stdio", "command": launch.program, "args": args});
                }
                entry
            }
            Way::Http { url, token: false } => match self {
                Self::ClaudeCode | Self::VsCode => json!({"type": "http", "url": url}),
                _ => json!({"url": url}),
            },
            Way::Http { url, token: true } => {
                let headers = |variable| json!({"Authorization": format!("Bearer {variable}")});
                match self {
                    Self::ClaudeCode => {
                        json!({"type": "http", "url": url, "headers": headers("${VOUCH_TOKEN}")})
                    }
                    Self::VsCode => {
                        json!({"type": "http", "url": url, "headers": headers("${env:VOUCH_TOKEN}")})
                    }
                    Self::Codex => json!({"url": url, "bearer_token_env_var": "VOUCH_TOKEN"}),
                    _ => json!({"url": url, "headers": headers("${env:VOUCH_TOKEN}")}),
                }
            }
        }
    }

    /// A command that makes the client connect, where it has one.
    pub fn one_liner(self, name: &str, way: &Way) -> Option<String> {
        match (self, way) {
            (Self::ClaudeCode, Way::Stdio(launch)) => {
                Some(format!("claude mcp add {name} -- {}", launch.command_line()))
            }
            (Self::ClaudeCode, Way::Http { url, token }) => {
                let header = " --header \"Authorization: Bearer $VOUCH_TOKEN\"";
                let header = if *token { header } else { "" };
                Some(format!("claude mcp add --transport http {name} {url}{header}"))
            }
            (Self::VsCode, _) => {
                let mut entry = json!({"name": name});
                // It goes into the user's own configuration, which serves every project.
                let parts = self.entry_for(way, None, true);
                for (key, value) in parts.as_object().into_iter().flatten() {
                    entry[key] = value.clone();
                }
                Some(format!("code --add-mcp {}", quote(&entry.to_string())))
            }
            (Self::Codex, Way::Stdio(launch)) => {
                Some(format!("codex mcp add {name} -- {}", launch.command_line()))
            }
            (Self::Codex, Way::Http { url, token }) => {
                let token = if *token { " --bearer-token-env-var VOUCH_TOKEN" } else { "" };
                Some(format!("codex mcp add {name} --url {url}{token}"))
            }
            (Self::Cursor | Self::ClaudeDesktop, _) => None,
        }
    }

    /// The whole file, if it held nothing else.
    pub fn snippet(self, name: &str, way: &Way) -> String {
        let entry = self.entry(way);
        match self.shape() {
            Shape::Json(key) => json::insert("", key, name, &entry),
            Shape::Toml => toml::insert("", name, &entry),
        }
        .expect("an empty file takes an entry")
        .unwrap_or_default()
    }
}

impl FromStr for Client {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|client| client.name() == text);
        found.ok_or_else(|| format!("unknown client \"{text}\""))
    }
}

/// Why a file cannot be merged into.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error("it is not plain JSON (comments are not supported here)")]
    Json(#[source] serde_json::Error),
    #[error("its `{0}` is not an object")]
    Object(String),
    #[error("it is not valid TOML")]
    Toml(#[source] toml_edit::TomlError),
    #[error("its `{0}` is not a table")]
    Table(String),
}
