//! The MCP clients that `vouch connect` can configure: their files, file formats and commands.
//!
//! `json` and `toml` merge an entry into an existing file and change nothing else. [`servers`] reads the servers
//! that a client's file lists.

pub mod json;
mod launch;
pub mod servers;
pub mod toml;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::{Value, json};

use crate::env::{EnvVar, Environment};
pub(crate) use launch::quote_word;
pub use launch::{ClientConnection, ClientToken, LaunchCommand, local_url, server_url};

/// An MCP client that can be configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpClient {
    ClaudeCode,
    Cursor,
    VsCode,
    Codex,
    ClaudeDesktop,
}

/// The format in which a client's file lists its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientFileFormat {
    /// A JSON object under this key.
    Json(&'static str),
    /// Tables `[mcp_servers.<name>]`.
    Toml,
}

impl McpClient {
    /// All clients, in the order in which the help lists them.
    pub const ALL: [Self; 5] =
        [Self::ClaudeCode, Self::Cursor, Self::VsCode, Self::Codex, Self::ClaudeDesktop];

    /// Returns the client's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Codex => "codex",
            Self::ClaudeDesktop => "claude-desktop",
        }
    }

    /// Returns the client's display name.
    pub fn display_name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Codex => "Codex",
            Self::ClaudeDesktop => "Claude Desktop",
        }
    }

    /// Returns the format of the client's file.
    pub fn file_format(self) -> ClientFileFormat {
        match self {
            Self::ClaudeCode | Self::Cursor | Self::ClaudeDesktop => {
                ClientFileFormat::Json("mcpServers")
            }
            Self::VsCode => ClientFileFormat::Json("servers"),
            Self::Codex => ClientFileFormat::Toml,
        }
    }

    /// Returns the path of the client's configuration; `None` if it depends on an unset home folder.
    pub fn config_path(self, root: &Path, environment: &Environment) -> Option<PathBuf> {
        let home = || environment.get(EnvVar::Home).map(PathBuf::from);
        match self {
            Self::ClaudeCode => Some(root.join(".mcp.json")),
            Self::Cursor => Some(root.join(".cursor/mcp.json")),
            Self::VsCode => Some(root.join(".vscode/mcp.json")),
            Self::Codex => {
                let own = environment.get(EnvVar::CodexHome).map(PathBuf::from);
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

    /// Returns every file that may list servers: the one that `vouch` writes, and the user's own, which is only read.
    pub fn server_list_paths(self, root: &Path, environment: &Environment) -> Vec<PathBuf> {
        let home = environment.get(EnvVar::Home).map(PathBuf::from);
        let own = match self {
            Self::ClaudeCode => home.map(|home| home.join(".claude.json")),
            Self::Cursor => home.map(|home| home.join(".cursor/mcp.json")),
            Self::VsCode | Self::Codex | Self::ClaudeDesktop => None,
        };
        self.config_path(root, environment).into_iter().chain(own).collect()
    }

    /// Returns the placeholder for the project folder, so that a file in version control works on every machine.
    fn root_placeholder(self) -> Option<&'static str> {
        match self {
            // Claude Code starts servers in the project folder.
            Self::ClaudeCode => None,
            Self::Cursor | Self::VsCode => Some("${workspaceFolder}"),
            Self::Codex | Self::ClaudeDesktop => None,
        }
    }

    /// Returns true if the file applies to every project, so that the entry must name this one.
    fn is_global(self) -> bool {
        matches!(self, Self::Codex | Self::ClaudeDesktop)
    }

    /// Returns true if the client can connect over HTTP.
    pub fn supports_http(self) -> bool {
        self != Self::ClaudeDesktop
    }

    /// Returns the entry for this server in the client's file.
    pub fn server_entry(self, way: &ClientConnection) -> Value {
        self.build_entry(way, self.root_placeholder(), self.is_global())
    }

    fn build_entry(self, way: &ClientConnection, root_word: Option<&str>, global: bool) -> Value {
        match way {
            ClientConnection::Stdio(launch) => {
                let args = launch.arguments(root_word, global);
                let mut entry = json!({"command": launch.program, "args": args});
                if self == Self::VsCode {
                    entry = json!({"type": "stdio", "command": launch.program, "args": args});
                }
                entry
            }
            ClientConnection::Http { url, token } => {
                let mut entry = match self {
                    Self::ClaudeCode | Self::VsCode => json!({"type": "http", "url": url}),
                    _ => json!({"url": url}),
                };
                if let Some((key, value)) = self.token_field(token) {
                    entry[key] = value;
                }
                entry
            }
        }
    }

    /// Returns the field of an entry that supplies the token, if one is required.
    fn token_field(self, token: &ClientToken) -> Option<(&'static str, Value)> {
        let header = |text: &str| json!({"Authorization": format!("Bearer {text}")});
        Some(match (token, self) {
            (ClientToken::None, _) => return None,
            (ClientToken::Variable, Self::Codex) => ("bearer_token_env_var", json!("VOUCH_TOKEN")),
            (ClientToken::Variable, Self::ClaudeCode) => ("headers", header("${VOUCH_TOKEN}")),
            (ClientToken::Variable, _) => ("headers", header("${env:VOUCH_TOKEN}")),
            (ClientToken::Secret(token), Self::Codex) => {
                ("http_headers", header(token.expose_secret()))
            }
            (ClientToken::Secret(token), _) => ("headers", header(token.expose_secret())),
        })
    }

    /// Returns the client's own command that adds this server, if it has one. No command contains a secret: it would be
    /// in the history of the shell.
    pub fn add_command(self, name: &str, way: &ClientConnection) -> Option<String> {
        match (self, way) {
            (Self::ClaudeCode, ClientConnection::Stdio(launch)) => {
                Some(format!("claude mcp add {name} -- {}", launch.command_line()))
            }
            (Self::ClaudeCode, ClientConnection::Http { url, token }) => {
                let header = match token {
                    ClientToken::None => "",
                    ClientToken::Variable => " --header \"Authorization: Bearer $VOUCH_TOKEN\"",
                    ClientToken::Secret(_) => " --header \"Authorization: Bearer $(vouch token)\"",
                };
                Some(format!("claude mcp add --transport http {name} {url}{header}"))
            }
            (_, ClientConnection::Http { token: ClientToken::Secret(_), .. }) => None,
            (Self::VsCode, _) => {
                let mut entry = json!({"name": name});
                // The command changes the user's configuration, which applies to every project.
                let parts = self.build_entry(way, None, true);
                for (key, value) in parts.as_object().into_iter().flatten() {
                    entry[key] = value.clone();
                }
                Some(format!("code --add-mcp {}", quote_word(&entry.to_string())))
            }
            (Self::Codex, ClientConnection::Stdio(launch)) => {
                Some(format!("codex mcp add {name} -- {}", launch.command_line()))
            }
            (Self::Codex, ClientConnection::Http { url, token }) => {
                let token = match token {
                    ClientToken::None => "",
                    _ => " --bearer-token-env-var VOUCH_TOKEN",
                };
                Some(format!("codex mcp add {name} --url {url}{token}"))
            }
            (Self::Cursor | Self::ClaudeDesktop, _) => None,
        }
    }

    /// Returns the text of a file that holds only this entry.
    pub fn config_snippet(self, name: &str, way: &ClientConnection) -> String {
        let entry = self.server_entry(way);
        match self.file_format() {
            ClientFileFormat::Json(key) => json::insert_entry("", key, name, &entry),
            ClientFileFormat::Toml => toml::insert_server("", name, &entry),
        }
        .expect("an empty file accepts an entry")
        .unwrap_or_default()
    }
}

impl FromStr for McpClient {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|client| client.name() == text);
        found.ok_or_else(|| format!("unknown client \"{text}\""))
    }
}

/// An error while merging an entry into a client's file.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error("invalid JSON (comments are not supported here)")]
    Json(#[source] serde_json::Error),
    #[error("`{0}` is not an object")]
    Object(String),
    #[error("invalid TOML")]
    Toml(#[source] toml_edit::TomlError),
    #[error("`{0}` is not a table")]
    Table(String),
}
