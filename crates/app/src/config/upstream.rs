//! The `[[upstream]]` tables: connection, sandbox and policy of each upstream.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use link::ProtectedPaths;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::ConfigError;
use super::globs::ToolGlobs;
use super::location::{SourceContext, SourceEntry};
use super::reference::{ReferenceError, SecretReference};
use super::sandbox::{SandboxConfig, SandboxLayer, build_sandbox};
use super::values::{ServerUrl, VariableName};
use crate::env::Environment;

pub(crate) const TABLE: &str = "upstream";
const MAX_NAME: usize = 32;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Raw values of an `[[upstream]]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct UpstreamLayer {
    name: Option<UpstreamName>,
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, SecretReference>>,
    cwd: Option<PathBuf>,
    sandbox: Option<SandboxLayer>,
    url: Option<ServerUrl>,
    transport: Option<UpstreamTransport>,
    headers: Option<BTreeMap<String, SecretReference>>,
    policy: Option<UpstreamPolicy>,
    allow_changes: Option<Vec<DefinitionChange>>,
    tools: Option<Vec<String>>,
    connect_timeout_ms: Option<NonZeroU64>,
    required: Option<bool>,
    enabled: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum UpstreamTransport {
    Http,
    Sse,
}

/// The name of an upstream, which prefixes its tools in the catalog and names its overlay folder.
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
            format!("expected at most {MAX_NAME} lower-case letters, digits and `-`, not starting with `-`")
        })
    }
}

impl TryFrom<String> for UpstreamName {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// The treatment of upstream tools that violate rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpstreamPolicy {
    /// Refuses tools that violate a rule.
    #[default]
    Default,
    /// Refuses tools with warnings as well.
    Strict,
    /// Admits all tools unchanged, and marks violations.
    Observe,
}

impl UpstreamPolicy {
    /// All policies, in the order in which the help lists them.
    pub const ALL: [Self; 3] = [Self::Default, Self::Strict, Self::Observe];

    /// Returns the name of the policy in the configuration and on the command line.
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

/// A kind of change to a pinned definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DefinitionChange {
    Descriptive,
    Additive,
    Breaking,
    Annotation,
}

/// The validated configuration of one upstream.
#[derive(Clone, Debug)]
pub struct UpstreamConfig {
    pub name: String,
    pub connection: UpstreamConnection,
    pub policy: UpstreamPolicy,
    /// Changes that are admitted without `vouch accept`.
    pub allow_changes: BTreeSet<DefinitionChange>,
    /// Patterns over the upstream's tool names; `None` admits all.
    pub tools: Option<ToolGlobs>,
    pub connect_timeout: Duration,
    /// True if a server without this upstream is not ready.
    pub required: bool,
    pub enabled: bool,
}

/// The connection to an upstream.
#[derive(Clone, Debug)]
pub enum UpstreamConnection {
    Stdio {
        command: String,
        args: Vec<String>,
        /// Complete environment of the child.
        env: BTreeMap<String, SecretReference>,
        cwd: PathBuf,
        sandbox: SandboxConfig,
    },
    Http {
        url: String,
        headers: BTreeMap<String, SecretReference>,
    },
    /// The HTTP+SSE transport of protocol versions before 2025.
    Sse {
        url: String,
        headers: BTreeMap<String, SecretReference>,
    },
}

/// The resolved secrets of an upstream.
#[derive(Clone, Debug, Default)]
pub struct ResolvedSecrets {
    /// Environment of a child process.
    pub env: BTreeMap<String, SecretString>,
    /// Headers of HTTP requests.
    pub headers: BTreeMap<String, SecretString>,
}

/// An upstream that cannot be started because a secret is missing.
#[derive(Debug, thiserror::Error)]
#[error("failed to resolve {key} of upstream `{upstream}`")]
pub struct UnresolvedSecretError {
    pub upstream: String,
    /// Key of the value, such as `env.API_KEY`.
    pub key: String,
    pub source: ReferenceError,
}

impl UpstreamConfig {
    /// Returns the table with references, `env` or `headers`, and its entries.
    fn references(&self) -> (&'static str, &BTreeMap<String, SecretReference>) {
        match &self.connection {
            UpstreamConnection::Stdio { env, .. } => ("env", env),
            UpstreamConnection::Http { headers, .. } | UpstreamConnection::Sse { headers, .. } => {
                ("headers", headers)
            }
        }
    }

    /// Reads the secrets. Called when the upstream is started.
    pub fn resolve_secrets(
        &self,
        environment: &Environment,
        root: &Path,
    ) -> Result<ResolvedSecrets, UnresolvedSecretError> {
        let (table, references) = self.references();
        let mut values = BTreeMap::new();
        for (name, reference) in references {
            let value =
                reference.resolve(environment, root).map_err(|source| UnresolvedSecretError {
                    upstream: self.name.clone(),
                    key: format!("{table}.{name}"),
                    source,
                })?;
            values.insert(name.clone(), value);
        }
        Ok(match self.connection {
            UpstreamConnection::Stdio { .. } => {
                ResolvedSecrets { env: values, ..ResolvedSecrets::default() }
            }
            _ => ResolvedSecrets { headers: values, ..ResolvedSecrets::default() },
        })
    }

    /// Returns the variables that must be set before the upstream can start.
    pub fn variable_names(&self) -> BTreeSet<&str> {
        self.references().1.values().flat_map(SecretReference::variable_names).collect()
    }

    /// Returns the secret files that other users of this machine can read.
    pub fn exposed_files(&self, root: &Path) -> Vec<PathBuf> {
        self.references().1.values().flat_map(|reference| reference.exposed_files(root)).collect()
    }
}

/// Validates all `[[upstream]]` tables.
pub(super) fn build_upstreams(
    layers: Vec<UpstreamLayer>,
    place: SourceContext<'_>,
    protected: &ProtectedPaths,
) -> Result<Vec<UpstreamConfig>, ConfigError> {
    let mut upstreams: Vec<UpstreamConfig> = Vec::new();
    for (index, layer) in layers.into_iter().enumerate() {
        let entry = place.list_entry(TABLE, index);
        let upstream = layer.into_config(entry, protected)?;
        if upstreams.iter().any(|other| other.name == upstream.name) {
            let message = format!("duplicate upstream `{}`", upstream.name);
            return Err(entry.invalid_value(&["name"], message));
        }
        upstreams.push(upstream);
    }
    Ok(upstreams)
}

impl UpstreamLayer {
    fn into_config(
        mut self,
        entry: SourceEntry<'_>,
        protected: &ProtectedPaths,
    ) -> Result<UpstreamConfig, ConfigError> {
        let Some(UpstreamName(name)) = self.name.take() else {
            return Err(entry.invalid_value(&["name"], "required for every upstream"));
        };
        let connection = match (self.command.take(), self.url.take()) {
            (Some(command), None) => self.take_stdio(command, entry, protected)?,
            (None, Some(url)) => self.take_http(url, entry)?,
            (Some(_), Some(_)) => {
                let message = format!("`command` and `url` of `{name}` are mutually exclusive");
                return Err(entry.invalid_value(&["url"], message));
            }
            (None, None) => {
                let message = format!("`{name}` requires `command` or `url`");
                return Err(entry.invalid_value(&["command"], message));
            }
        };
        let tools = self.tools.map(ToolGlobs::new).transpose();
        Ok(UpstreamConfig {
            name,
            connection,
            policy: self.policy.unwrap_or_default(),
            allow_changes: self.allow_changes.into_iter().flatten().collect(),
            tools: tools.map_err(|message| entry.invalid_value(&["tools"], message))?,
            connect_timeout: self
                .connect_timeout_ms
                .map_or(CONNECT_TIMEOUT, |limit| Duration::from_millis(limit.get())),
            required: self.required.unwrap_or(true),
            enabled: self.enabled.unwrap_or(true),
        })
    }

    fn take_stdio(
        &mut self,
        command: String,
        entry: SourceEntry<'_>,
        protected: &ProtectedPaths,
    ) -> Result<UpstreamConnection, ConfigError> {
        let only = "only valid with `url`";
        if self.transport.is_some() {
            return Err(entry.invalid_value(&["transport"], only));
        }
        if self.headers.is_some() {
            return Err(entry.invalid_value(&["headers"], only));
        }
        let args = self.args.take().unwrap_or_default();
        for (key, text) in
            std::iter::once(("command", &command)).chain(args.iter().map(|arg| ("args", arg)))
        {
            if text.contains('\0') || (key == "command" && text.is_empty()) {
                return Err(entry.invalid_value(&[key], "empty, or contains a NUL character"));
            }
        }
        let env = self.env.take().unwrap_or_default();
        for name in env.keys() {
            name.parse::<VariableName>().map_err(|_| {
                entry.invalid_value(&["env", name], "invalid name of an environment variable")
            })?;
        }
        let root = entry.context.root;
        let cwd = self.cwd.take().map_or_else(|| root.to_owned(), |cwd| root.join(cwd));
        let sandbox = build_sandbox(self.sandbox.take(), entry, protected)?;
        Ok(UpstreamConnection::Stdio { command, args, env, cwd, sandbox })
    }

    fn take_http(
        &mut self,
        url: ServerUrl,
        entry: SourceEntry<'_>,
    ) -> Result<UpstreamConnection, ConfigError> {
        let given = [
            ("args", self.args.is_some()),
            ("env", self.env.is_some()),
            ("cwd", self.cwd.is_some()),
            ("sandbox", self.sandbox.is_some()),
        ];
        if let Some((key, _)) = given.into_iter().find(|(_, given)| *given) {
            return Err(entry.invalid_value(&[key], "only valid with `command`"));
        }
        let headers = self.headers.take().unwrap_or_default();
        for name in headers.keys() {
            http::HeaderName::from_str(name)
                .map_err(|_| entry.invalid_value(&["headers", name], "invalid header name"))?;
        }
        let ServerUrl(url) = url;
        Ok(match self.transport {
            Some(UpstreamTransport::Sse) => UpstreamConnection::Sse { url, headers },
            Some(UpstreamTransport::Http) | None => UpstreamConnection::Http { url, headers },
        })
    }
}
