//! The configuration as commands use it: complete, and checked.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use link::ProtectedPaths;
use secrecy::SecretString;
use serde::Deserialize;

use super::ask::Ask;
use super::campaign::Campaign;
use super::clients::Clients;
use super::context::Context;
use super::error::{Spot, suggest};
use super::find::Located;
use super::fuzz::FuzzTable;
use super::gateway::Gateway;
use super::layer::{Layer, ToolLayer};
use super::place::Place;
use super::upstream::Upstream;
use super::values::{Folder, HostName, Origin};
use super::{ConfigError, FILE_NAME, Source, clients, fuzz, private, rule, upstream};
use crate::env::Environment;

/// The validated configuration that commands use.
#[derive(Debug)]
pub struct Settings {
    /// The folder that is served.
    pub root: PathBuf,
    /// The file that configures it, where there is one.
    source: Option<Source>,
    pub packs: Vec<Pack>,
    /// Somebody chose the packs for this run only, so that the file may be about others.
    pub are_packs_chosen: bool,
    pub server: Server,
    /// Relative to the root.
    pub memory_folder: String,
    pub context: Context,
    pub state_folder: PathBuf,
    /// Names that no tool may read, wherever they stand below the root.
    pub(crate) private: Vec<String>,
    /// For tools that need an approval by contract.
    pub approve: Policy,
    pub(crate) tools: BTreeMap<String, ToolLayer>,
    pub(crate) otlp_endpoint: Option<String>,
    /// How contracts are fuzzed, where the file says something of it.
    pub(crate) fuzz: Option<FuzzTable>,
    pub campaign: Campaign,
    /// How other servers' tools are offered.
    pub gateway: Gateway,
    /// What the other servers may not write.
    pub protected: ProtectedPaths,
    /// The other servers, in the order of the file.
    pub upstreams: Vec<Upstream>,
    pub rules: rules::Rules,
    /// Which tools they are for.
    pub(crate) reach: rule::Reach,
    pub(crate) clients: Clients,
    pub ask: Ask,
}

#[derive(Debug)]
pub struct Server {
    pub address: SocketAddr,
    pub token: Option<TokenSource>,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    pub(crate) max_body_bytes: usize,
}

/// A set of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pack {
    /// hello, read_repo_file, write_memory_entry
    Repo,
    /// context_search, read_file, grep_codebase
    Context,
    /// Those that watch and steer a fuzz campaign
    Campaign,
}

impl Pack {
    /// All packs, in the order in which the help lists them.
    pub const ALL: [Self; 3] = [Self::Repo, Self::Context, Self::Campaign];

    /// The name of the pack in the configuration and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Repo => "repo",
            Self::Context => "context",
            Self::Campaign => "campaign",
        }
    }
}

impl FromStr for Pack {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|pack| pack.name() == text);
        found.ok_or_else(|| format!("unknown pack \"{text}\""))
    }
}

/// Who approves the calls of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    Ask,
    Always,
    Never,
}

impl From<Policy> for runtime::Approve {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Ask => Self::Ask,
            Policy::Always => Self::Always,
            Policy::Never => Self::Never,
        }
    }
}

/// The source of the server's bearer tokens.
#[derive(Clone, Debug)]
pub enum TokenSource {
    /// The token itself, from VOUCH_TOKEN.
    Variable(SecretString),
    File(PathBuf),
}

impl Settings {
    pub(super) fn new(
        located: Located,
        layer: Layer,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        const COMPLETE: &str = "defaults.toml sets it";
        let Located { root, source } = located;
        let server = layer.server;
        let host = server.host.expect(COMPLETE).0;
        let port = server.port.expect(COMPLETE);
        let Folder(state_folder) = layer.state.folder.expect(COMPLETE);
        let state_folder = root.join(state_folder);
        let private = private::names(&root, &state_folder)?;
        private::check_token(&root, &private, server.token.as_ref())?;
        let hosts = server.allowed_hosts.expect(COMPLETE).into_iter();
        let origins = server.allowed_origins.expect(COMPLETE).into_iter();
        let context = Context::new(layer.context, source.as_ref(), environment)?;
        let fuzz = match (layer.fuzz, &source) {
            (Some(table), Some(source)) => Some(fuzz::lower(&table, source, &root)?),
            _ => None,
        };
        let campaign = match (layer.campaign, &source) {
            (Some(table), Some(source)) => table.lower(source, &root)?,
            _ => Campaign::default(),
        };
        let place = Place { root: &root, source: source.as_ref() };
        let gateway = layer.gateway.lower(place)?;
        let config = place.source.map_or_else(|| root.join(FILE_NAME), |file| file.path.clone());
        // Who can write these decides what is admitted.
        let read_only = [&*config, &*gateway.lock, &*gateway.contracts];
        let protected = ProtectedPaths::new(place.root, read_only, &state_folder);
        let upstreams = upstream::lower(layer.upstream, place, &protected)?;
        let (rules, reach) = rule::lower(layer.rule, place)?;
        let clients = clients::lower(layer.clients, place)?;
        let ask = layer.ask.lower(place, environment)?;
        Ok(Self {
            gateway,
            protected,
            upstreams,
            rules,
            reach,
            clients,
            ask,
            packs: layer.packs.expect(COMPLETE),
            are_packs_chosen: layer.are_packs_chosen,
            server: Server {
                address: SocketAddr::new(host, port),
                token: server.token,
                allowed_hosts: hosts.map(|HostName(name)| name).collect(),
                allowed_origins: origins.map(|Origin(origin)| origin).collect(),
                max_body_bytes: server.max_body_bytes.expect(COMPLETE).get(),
            },
            memory_folder: layer.memory.folder.expect(COMPLETE).0,
            context,
            state_folder,
            private,
            approve: layer.policy.approve.expect(COMPLETE),
            tools: layer.tools,
            otlp_endpoint: layer.telemetry.otlp_endpoint.map(|endpoint| endpoint.0),
            fuzz,
            campaign,
            root,
            source,
        })
    }

    /// Returns the path of the configuration file, if there is one.
    pub fn config_file(&self) -> Option<&Path> {
        self.source.as_ref().map(|source| source.path.as_path())
    }

    /// Folders that no other server may read.
    pub(crate) fn hidden(&self) -> Vec<PathBuf> {
        private::folders(&self.root, &self.state_folder)
    }

    pub(crate) fn tool(&self, name: &str) -> ToolLayer {
        self.tools.get(name).cloned().unwrap_or_default()
    }

    /// What happens to calls of a tool; None where nothing is asked.
    pub fn policy(&self, name: &str, by_contract: bool) -> Option<Policy> {
        self.tool(name).approve.or(by_contract.then_some(self.approve))
    }

    /// A tool that is configured but does not exist is a mistake: its limits would silently not hold.
    pub(crate) fn check_tools(&self, known: &[&str]) -> Result<(), ConfigError> {
        if self.are_packs_chosen {
            return Ok(());
        }
        // Those of other servers are known to the gateway only, once it has asked them.
        let ours = self.tools.keys().filter(|name| self.upstream_of(name).is_none());
        match ours.into_iter().find(|name| !known.contains(&name.as_str())) {
            Some(tool) => Err(self.unknown_tool(tool, known)),
            None => Ok(()),
        }
    }

    /// The upstream that a name in the catalog belongs to, and its tool's own name.
    pub fn upstream_of<'n>(&self, tool: &'n str) -> Option<(&Upstream, &'n str)> {
        self.upstreams.iter().find_map(|upstream| {
            let rest = tool.strip_prefix(upstream.name.as_str())?;
            Some((upstream, rest.strip_prefix(self.gateway.separator.as_str())?))
        })
    }

    pub(crate) fn unknown_tool(&self, tool: &str, known: &[&str]) -> ConfigError {
        let spot = match &self.source {
            Some(source) => source.spot_of(&["tools", tool]),
            None => Spot { file: super::FILE_NAME.into(), line: 1 },
        };
        let suggestion = suggest(tool, known, "tools");
        ConfigError::UnknownTool { spot, tool: tool.to_owned(), suggestion }
    }
}
