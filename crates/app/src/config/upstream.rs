//! The tables `[[upstream]]`: other MCP servers, how they are reached and what they may do.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use link::{GrantError, ProtectedPaths};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::ConfigError;
use super::globs::Globs;
use super::place::{Entry, Place};
use super::reference::{Reference, Unresolved};
use super::values::{Address, Variable};
use crate::env::Environment;

pub(crate) const TABLE: &str = "upstream";
const MAX_NAME: usize = 32;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct UpstreamLayer {
    name: Option<UpstreamName>,
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, Reference>>,
    cwd: Option<PathBuf>,
    sandbox: Option<SandboxLayer>,
    url: Option<Address>,
    transport: Option<Transport>,
    headers: Option<BTreeMap<String, Reference>>,
    policy: Option<UpstreamPolicy>,
    allow_changes: Option<Vec<Change>>,
    tools: Option<Vec<String>>,
    connect_timeout_ms: Option<NonZeroU64>,
    enabled: Option<bool>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected \"off\" or a table of read, write and network")]
enum SandboxLayer {
    Word(String),
    Grants(GrantsLayer),
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
struct GrantsLayer {
    read: Option<Vec<PathBuf>>,
    write: Option<Vec<PathBuf>>,
    network: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Transport {
    Http,
    Sse,
}

/// The name of an upstream: it begins the names of its tools, and names its folder of overlays.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct UpstreamName(pub String);

impl FromStr for UpstreamName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let fits = text.len() <= MAX_NAME
            && text.starts_with(plain)
            && text.chars().all(|c| plain(c) || c == '-');
        fits.then(|| Self(text.to_owned())).ok_or_else(|| {
            format!("expected at most {MAX_NAME} small letters, digits and `-`, not `-` first")
        })
    }
}

impl TryFrom<String> for UpstreamName {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// What happens to tools that do not conform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpstreamPolicy {
    /// Tools that break a rule are refused
    #[default]
    Default,
    /// Warnings count as well
    Strict,
    /// They are let through unchanged, and marked
    Observe,
}

impl UpstreamPolicy {
    /// All policies, in the order in which the help lists them.
    pub const ALL: [Self; 3] = [Self::Default, Self::Strict, Self::Observe];

    /// The name of the policy in the configuration and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Strict => "strict",
            Self::Observe => "observe",
        }
    }
}

impl FromStr for UpstreamPolicy {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|policy| policy.name() == text);
        found.ok_or_else(|| format!("unknown policy \"{text}\""))
    }
}

/// A kind of change of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    Descriptive,
    Additive,
    Breaking,
    Annotation,
}

/// Another MCP server.
#[derive(Clone, Debug)]
pub struct Upstream {
    pub name: String,
    pub connection: Connection,
    pub policy: UpstreamPolicy,
    /// Changes that pass without being accepted.
    pub allow_changes: BTreeSet<Change>,
    /// Which of its own tool names are offered; None for all.
    pub tools: Option<Globs>,
    pub connect_timeout: Duration,
    pub enabled: bool,
}

/// How it is reached.
#[derive(Clone, Debug)]
pub enum Connection {
    Stdio {
        command: String,
        args: Vec<String>,
        /// All that the child finds in its environment.
        env: BTreeMap<String, Reference>,
        cwd: PathBuf,
        sandbox: Sandbox,
    },
    Http {
        url: String,
        headers: BTreeMap<String, Reference>,
    },
    /// The transport of before 2025.
    Sse {
        url: String,
        headers: BTreeMap<String, Reference>,
    },
}

/// What a child may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sandbox {
    /// Everything that we may: somebody said so.
    Off,
    Landlock(Grants),
}

/// Absolute paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grants {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    pub network: bool,
}

/// The values of an upstream's references.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    /// For a child.
    pub env: BTreeMap<String, SecretString>,
    /// For requests.
    pub headers: BTreeMap<String, SecretString>,
}

/// An upstream that cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("upstream `{upstream}` cannot be started, because its {key} has no value")]
pub struct NotResolved {
    pub upstream: String,
    /// `env.API_KEY` or such.
    pub key: String,
    pub source: Unresolved,
}

impl Upstream {
    /// `env` or `headers`, and the references there.
    fn references(&self) -> (&'static str, &BTreeMap<String, Reference>) {
        match &self.connection {
            Connection::Stdio { env, .. } => ("env", env),
            Connection::Http { headers, .. } | Connection::Sse { headers, .. } => {
                ("headers", headers)
            }
        }
    }

    /// Reads the secrets; to be called when it is started.
    pub fn resolve(&self, environment: &Environment, root: &Path) -> Result<Resolved, NotResolved> {
        let (table, references) = self.references();
        let mut values = BTreeMap::new();
        for (name, reference) in references {
            let value = reference.resolve(environment, root).map_err(|source| NotResolved {
                upstream: self.name.clone(),
                key: format!("{table}.{name}"),
                source,
            })?;
            values.insert(name.clone(), value);
        }
        Ok(match self.connection {
            Connection::Stdio { .. } => Resolved { env: values, ..Resolved::default() },
            _ => Resolved { headers: values, ..Resolved::default() },
        })
    }

    /// The variables that must be set before it can be started.
    pub fn variables(&self) -> BTreeSet<&str> {
        self.references().1.values().flat_map(Reference::variables).collect()
    }

    /// Secret files that other users of this machine can read.
    pub fn exposed(&self, root: &Path) -> Vec<PathBuf> {
        self.references().1.values().flat_map(|reference| reference.exposed(root)).collect()
    }
}

pub(super) fn lower(
    layers: Vec<UpstreamLayer>,
    place: Place<'_>,
    protected: &ProtectedPaths,
) -> Result<Vec<Upstream>, ConfigError> {
    let mut upstreams: Vec<Upstream> = Vec::new();
    for (index, layer) in layers.into_iter().enumerate() {
        let entry = place.entry(TABLE, index);
        let upstream = layer.lower(entry, protected)?;
        if upstreams.iter().any(|other| other.name == upstream.name) {
            let message = format!("there is an upstream `{}` above", upstream.name);
            return Err(entry.wrong(&["name"], message));
        }
        upstreams.push(upstream);
    }
    Ok(upstreams)
}

impl UpstreamLayer {
    fn lower(
        mut self,
        entry: Entry<'_>,
        protected: &ProtectedPaths,
    ) -> Result<Upstream, ConfigError> {
        let Some(UpstreamName(name)) = self.name.take() else {
            return Err(entry.wrong(&["name"], "every upstream needs one"));
        };
        let connection = match (self.command.take(), self.url.take()) {
            (Some(command), None) => self.stdio(command, entry, protected)?,
            (None, Some(url)) => self.http(url, entry)?,
            (Some(_), Some(_)) => {
                let message = format!("`{name}` has a command already; keep one of them");
                return Err(entry.wrong(&["url"], message));
            }
            (None, None) => {
                let message = format!("`{name}` needs it, or a url");
                return Err(entry.wrong(&["command"], message));
            }
        };
        let tools = self.tools.map(Globs::new).transpose();
        Ok(Upstream {
            name,
            connection,
            policy: self.policy.unwrap_or_default(),
            allow_changes: self.allow_changes.into_iter().flatten().collect(),
            tools: tools.map_err(|message| entry.wrong(&["tools"], message))?,
            connect_timeout: self
                .connect_timeout_ms
                .map_or(CONNECT_TIMEOUT, |limit| Duration::from_millis(limit.get())),
            enabled: self.enabled.unwrap_or(true),
        })
    }

    fn stdio(
        &mut self,
        command: String,
        entry: Entry<'_>,
        protected: &ProtectedPaths,
    ) -> Result<Connection, ConfigError> {
        let only = "only for an upstream with a url";
        if self.transport.is_some() {
            return Err(entry.wrong(&["transport"], only));
        }
        if self.headers.is_some() {
            return Err(entry.wrong(&["headers"], only));
        }
        let args = self.args.take().unwrap_or_default();
        for (key, text) in
            std::iter::once(("command", &command)).chain(args.iter().map(|arg| ("args", arg)))
        {
            if text.contains('\0') || (key == "command" && text.is_empty()) {
                return Err(entry.wrong(&[key], "no program can be called like this"));
            }
        }
        let env = self.env.take().unwrap_or_default();
        for name in env.keys() {
            name.parse::<Variable>().map_err(|_| {
                entry.wrong(&["env", name], "expected the name of an environment variable")
            })?;
        }
        let root = entry.place.root;
        let cwd = self.cwd.take().map_or_else(|| root.to_owned(), |cwd| root.join(cwd));
        let sandbox = sandbox(self.sandbox.take(), entry, protected)?;
        Ok(Connection::Stdio { command, args, env, cwd, sandbox })
    }

    fn http(&mut self, url: Address, entry: Entry<'_>) -> Result<Connection, ConfigError> {
        let given = [
            ("args", self.args.is_some()),
            ("env", self.env.is_some()),
            ("cwd", self.cwd.is_some()),
            ("sandbox", self.sandbox.is_some()),
        ];
        if let Some((key, _)) = given.into_iter().find(|(_, given)| *given) {
            return Err(entry.wrong(&[key], "only for an upstream with a command"));
        }
        let headers = self.headers.take().unwrap_or_default();
        for name in headers.keys() {
            http::HeaderName::from_str(name)
                .map_err(|_| entry.wrong(&["headers", name], "expected the name of a header"))?;
        }
        let Address(url) = url;
        Ok(match self.transport {
            Some(Transport::Sse) => Connection::Sse { url, headers },
            Some(Transport::Http) | None => Connection::Http { url, headers },
        })
    }
}

fn sandbox(
    layer: Option<SandboxLayer>,
    entry: Entry<'_>,
    protected: &ProtectedPaths,
) -> Result<Sandbox, ConfigError> {
    let root = entry.place.root;
    let grants = match layer {
        None => GrantsLayer::default(),
        Some(SandboxLayer::Grants(grants)) => grants,
        Some(SandboxLayer::Word(word)) if word == "off" => return Ok(Sandbox::Off),
        Some(SandboxLayer::Word(_)) => {
            let message = "expected \"off\" or a table of read, write and network";
            return Err(entry.wrong(&["sandbox"], message));
        }
    };
    let below =
        |key, paths: Vec<PathBuf>, check: fn(&ProtectedPaths, &Path) -> Result<(), GrantError>| {
            let below = |path: &PathBuf| match check(protected, &root.join(path)) {
                Err(why) => {
                    let message = format!("`{}` cannot be granted: {why}", path.display());
                    Err(entry.wrong(&["sandbox", key], message))
                }
                Ok(()) => Ok(root.join(path)),
            };
            paths.iter().map(below).collect::<Result<Vec<_>, _>>()
        };
    Ok(Sandbox::Landlock(Grants {
        read: match grants.read {
            Some(paths) => below("read", paths, ProtectedPaths::check_read)?,
            None => vec![root.to_owned()],
        },
        write: below("write", grants.write.unwrap_or_default(), ProtectedPaths::check_write)?,
        network: grants.network.unwrap_or_default(),
    }))
}
