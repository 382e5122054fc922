//! Options of a connection: the endpoint of the server, its sandbox, and the bounds of its messages.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::NamespacePolicy;

/// Options of a connection.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the upstream, for logs.
    pub name: String,
    pub endpoint: UpstreamEndpoint,
    /// Time limit of one whole attempt: starting or connecting, and negotiating a protocol revision.
    pub connect_timeout: Duration,
    pub bounds: MessageBounds,
}

impl Options {
    /// Creates options with a timeout of ten seconds and default bounds.
    pub fn new(name: impl Into<String>, reach: UpstreamEndpoint) -> Self {
        Self {
            name: name.into(),
            endpoint: reach,
            connect_timeout: Duration::from_secs(10),
            bounds: MessageBounds::default(),
        }
    }
}

impl Options {
    /// Returns true if a connection with these options is the same as one with the others, including its secrets.
    pub fn is_same_connection(&self, other: &Self) -> bool {
        self.name == other.name
            && self.connect_timeout == other.connect_timeout
            && self.bounds == other.bounds
            && self.endpoint.is_same(&other.endpoint)
    }
}

/// The transport and address of a server.
#[derive(Clone, Debug)]
pub enum UpstreamEndpoint {
    Stdio(StdioProgram),
    Http(HttpEndpoint),
    /// The legacy HTTP+SSE transport of 2024-11-05.
    Sse(HttpEndpoint),
}

impl UpstreamEndpoint {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stdio(one), Self::Stdio(two)) => {
                one.command == two.command
                    && one.args == two.args
                    && has_same_secrets(&one.env, &two.env)
                    && one.folder == two.folder
                    && one.sandbox == two.sandbox
                    && one.supervisor == two.supervisor
            }
            (Self::Http(one), Self::Http(two)) | (Self::Sse(one), Self::Sse(two)) => {
                one.url == two.url && has_same_secrets(&one.headers, &two.headers)
            }
            _ => false,
        }
    }
}

fn has_same_secrets(
    one: &BTreeMap<String, SecretString>,
    two: &BTreeMap<String, SecretString>,
) -> bool {
    let expose = |(name, secret): (&String, &SecretString)| {
        (name.clone(), secret.expose_secret().to_owned())
    };
    one.iter().map(expose).eq(two.iter().map(expose))
}

/// A server that is started as a child process.
#[derive(Clone, Debug)]
pub struct StdioProgram {
    pub command: String,
    pub args: Vec<String>,
    /// The complete environment of the child; nothing is inherited.
    pub env: BTreeMap<String, SecretString>,
    /// The child's working directory.
    pub folder: PathBuf,
    pub sandbox: SandboxPolicy,
    /// Command line of a program that calls [`crate::supervisor::main`].
    pub supervisor: Vec<OsString>,
}

/// Sandbox of a child process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SandboxPolicy {
    Off,
    /// Landlock only: files, and TCP. Grants in addition to the system's programs and libraries.
    Landlock {
        read: Vec<PathBuf>,
        write: Vec<PathBuf>,
        /// Paths that the child may not read, even inside a grant. Their names can still be listed. Files created or
        /// replaced in the same folder as a hidden path are not readable until the next start.
        hidden: Vec<PathBuf>,
        network: bool,
    },
    /// Own namespaces, a system call filter, Landlock and resource limits.
    Namespaces(Box<NamespacePolicy>),
}

/// URL and headers of a server.
#[derive(Clone, Debug)]
pub struct HttpEndpoint {
    pub url: String,
    pub headers: BTreeMap<String, SecretString>,
}

/// Bounds of a server's messages. A message beyond them is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageBounds {
    pub max_message_bytes: usize,
    pub max_depth: usize,
    pub max_tools: usize,
    pub max_pages: usize,
}

impl Default for MessageBounds {
    fn default() -> Self {
        Self {
            max_message_bytes: 16 * 1024 * 1024,
            max_depth: 64,
            max_tools: 10_000,
            max_pages: 100,
        }
    }
}
