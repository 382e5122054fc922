//! Where a server is, how it is started, and how much of it we take.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug)]
pub struct Options {
    /// The upstream's name, for logs.
    pub name: String,
    pub reach: Reach,
    /// For one attempt as a whole: starting or dialling, and agreeing on a protocol revision.
    pub connect_timeout: Duration,
    pub bounds: Bounds,
}

impl Options {
    pub fn new(name: impl Into<String>, reach: Reach) -> Self {
        Self {
            name: name.into(),
            reach,
            connect_timeout: Duration::from_secs(10),
            bounds: Bounds::default(),
        }
    }
}

#[derive(Clone, Debug)]
pub enum Reach {
    Stdio(Program),
    Http(Endpoint),
    /// The transport of 2024-11-05: a stream of events, and a second address for messages.
    Sse(Endpoint),
}

/// A server that is started as a child process.
#[derive(Clone, Debug)]
pub struct Program {
    pub command: String,
    pub args: Vec<String>,
    /// The child's whole environment.
    pub env: BTreeMap<String, SecretString>,
    /// The child's working directory.
    pub folder: PathBuf,
    pub sandbox: Sandbox,
    /// The command line of a program that does nothing but call [`crate::keeper::main`].
    pub keeper: Vec<OsString>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sandbox {
    Off,
    /// What the child may use besides the system's own programs and libraries.
    Landlock {
        read: Vec<PathBuf>,
        write: Vec<PathBuf>,
        /// What it may not read, whatever else would let it. Names can be listed, and what is made or replaced right
        /// beside a hidden path is not to be read until the next start.
        hidden: Vec<PathBuf>,
        network: bool,
    },
}

#[derive(Clone, Debug)]
pub struct Endpoint {
    pub url: String,
    pub headers: BTreeMap<String, SecretString>,
}

/// How much of a server's output is taken before it counts as broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub max_message_bytes: usize,
    pub max_depth: usize,
    pub max_tools: usize,
    pub max_pages: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            max_message_bytes: 16 * 1024 * 1024,
            max_depth: 64,
            max_tools: 10_000,
            max_pages: 100,
        }
    }
}
