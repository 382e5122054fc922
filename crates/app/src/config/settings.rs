//! The complete, validated configuration.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use guard::DenyList;
use link::ProtectedPaths;
use secrecy::SecretString;
use serde::Deserialize;
use store::ProjectIdentity;

use super::ask::AskSettings;
use super::audit::AuditSettings;
use super::campaign::CampaignPackSettings;
use super::clients::ClientSettings;
use super::context::ContextSettings;
use super::error::{ConfigLocation, suggest_name};
use super::find::LocatedProject;
use super::fuzz::FuzzTable;
use super::gateway::GatewaySettings;
use super::http::{self, HttpSettings};
use super::layer::{ConfigLayer, ToolLayer};
use super::location::SourceContext;
use super::private::StateLocation;
use super::secret_settings::SecretSettings;
use super::upstream::UpstreamConfig;
use super::values::{BrowserOrigin, FolderPath, HostName};
use super::{ConfigError, ConfigSource, FILE_NAME, clients, fuzz, private, rule, upstream};
use crate::env::Environment;
use crate::trust::FolderTrust;

/// The validated configuration that commands use.
#[derive(Debug)]
pub struct Settings {
    /// Root folder of the project.
    pub root: PathBuf,
    /// Configuration file, if there is one.
    source: Option<ConfigSource>,
    pub packs: Vec<ToolPack>,
    /// True if a flag chose the packs, so that the file may configure tools of other packs.
    pub are_packs_chosen: bool,
    pub server: ServerSettings,
    /// The `[http]` and `[limits]` tables.
    pub http: HttpSettings,
    /// Relative to the root.
    pub memory_folder: String,
    pub context: ContextSettings,
    /// State directory, outside the root.
    pub state_folder: PathBuf,
    state_location: StateLocation,
    /// Identity of the root folder, to which the state belongs.
    pub(crate) project: ProjectIdentity,
    /// Names that no tool may read, anywhere below the root.
    pub(crate) private: Vec<String>,
    /// Policy for tools whose contract requires approval.
    pub approve: ApprovalPolicy,
    /// Files that tools may not read, and secrets in what they return.
    pub secrets: SecretSettings,
    pub(crate) tools: BTreeMap<String, ToolLayer>,
    pub(crate) otlp_endpoint: Option<String>,
    /// The `[fuzz]` table, if there is one.
    pub(crate) fuzz: Option<FuzzTable>,
    pub campaign: CampaignPackSettings,
    /// The `[gateway]` table.
    pub gateway: GatewaySettings,
    /// Paths that upstreams must not read or write.
    pub protected: ProtectedPaths,
    /// Upstreams, in the order of the file.
    pub upstreams: Vec<UpstreamConfig>,
    pub rules: rules::Rules,
    /// The tools that each rule applies to.
    pub(crate) rule_scopes: rule::RuleScopes,
    /// The `[clients.<principal>]` tables.
    pub(crate) clients: BTreeMap<String, ClientSettings>,
    pub ask: AskSettings,
    /// The `[audit]` table.
    pub audit: AuditSettings,
    /// The decision whether the folder's files may use powers, and what was left out.
    pub trust: Arc<FolderTrust>,
}

/// The validated `[server]` table.
#[derive(Debug)]
pub struct ServerSettings {
    pub address: SocketAddr,
    /// `None` if no token is required (`--no-token`).
    pub token: Option<TokenSource>,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    pub(crate) max_body_bytes: usize,
}

/// A set of built-in tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolPack {
    /// `hello`, `read_repo_file`, `write_memory_entry`.
    Repo,
    /// `context_search`, `read_file`, `grep_codebase`.
    Context,
    /// Tools that watch and steer a fuzz campaign.
    Campaign,
}

impl ToolPack {
    /// All packs, in the order in which the help lists them.
    pub const ALL: [Self; 3] = [Self::Repo, Self::Context, Self::Campaign];

    /// Returns the name of the pack in the configuration and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Repo => "repo",
            Self::Context => "context",
            Self::Campaign => "campaign",
        }
    }
}

impl FromStr for ToolPack {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|pack| pack.name() == text);
        found.ok_or_else(|| format!("unknown pack \"{text}\""))
    }
}

/// The approval policy of a tool: a person decides, at the client or only through the queue; always or never approve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalPolicy {
    Ask,
    Queue,
    Always,
    Never,
}

impl From<ApprovalPolicy> for runtime::ApprovalMode {
    fn from(policy: ApprovalPolicy) -> Self {
        match policy {
            ApprovalPolicy::Ask => Self::Ask,
            ApprovalPolicy::Queue => Self::Queue,
            ApprovalPolicy::Always => Self::Always,
            ApprovalPolicy::Never => Self::Never,
        }
    }
}

/// The source of the server's bearer tokens.
#[derive(Clone, Debug)]
pub enum TokenSource {
    /// The token itself, from VOUCH_TOKEN.
    Variable(SecretString),
    File(PathBuf),
    /// The token of the project in the state folder, created on first use.
    Project,
}

impl Settings {
    /// Validates the merged layers.
    pub(super) fn new(
        located: LocatedProject,
        layer: ConfigLayer,
        environment: &Environment,
        trust: FolderTrust,
    ) -> Result<Self, ConfigError> {
        const COMPLETE: &str = "defaults.toml sets it";
        let LocatedProject { root, source } = located;
        let server = layer.server;
        let host = server.host.expect(COMPLETE).0;
        let port = server.port.expect(COMPLETE);
        let project = ProjectIdentity::read(&root)
            .map_err(|error| ConfigError::Root { path: root.clone(), source: error })?;
        let state_location = StateLocation::new(
            SourceContext { root: &root, source: source.as_ref() },
            &project,
            layer.state.folder.as_ref().map(|FolderPath(folder)| Path::new(folder)),
            environment,
        )?;
        let private = state_location.private_names(&root);
        private::check_token_file(&root, &private, server.token.as_ref())?;
        let http = http::build_settings(
            layer.http,
            layer.limits,
            SourceContext { root: &root, source: source.as_ref() },
        )?;
        if let Some(tls) = &http.tls {
            private::check_tls_key(&root, &private, &tls.key)?;
        }
        let hosts = server.allowed_hosts.expect(COMPLETE).into_iter();
        let origins = server.allowed_origins.expect(COMPLETE).into_iter();
        let context = ContextSettings::new(layer.context, source.as_ref(), environment)?;
        let fuzz = match (layer.fuzz, &source) {
            (Some(table), Some(source)) => Some(fuzz::parse_fuzz_table(&table, source, &root)?),
            _ => None,
        };
        let campaign = match (layer.campaign, &source) {
            (Some(table), Some(source)) => table.into_settings(source, &root)?,
            _ => CampaignPackSettings::default(),
        };
        let place = SourceContext { root: &root, source: source.as_ref() };
        let gateway = layer.gateway.into_settings(place)?;
        let config = place.source.map_or_else(|| root.join(FILE_NAME), |file| file.path.clone());
        // A process that can write these decides which tools are admitted.
        let read_only = [&*config, &*gateway.lock, &*gateway.contracts];
        let audit = layer.audit.into_settings(place, state_location.keys_folder(&project))?;
        let mut hidden = state_location.private_folders(&root);
        hidden.extend(trust.records_folder().map(Path::to_owned));
        let protected = ProtectedPaths::new(place.root, read_only, &hidden);
        let upstreams = upstream::build_upstreams(layer.upstream, place, &protected)?;
        let (rules, reach) = rule::compile_rules(layer.rule, place)?;
        let clients = clients::build_clients(layer.clients, place)?;
        let ask = layer.ask.into_settings(place, environment)?;
        Ok(Self {
            gateway,
            protected,
            upstreams,
            rules,
            rule_scopes: reach,
            clients,
            ask,
            audit,
            packs: layer.packs.expect(COMPLETE),
            are_packs_chosen: layer.are_packs_chosen,
            server: ServerSettings {
                address: SocketAddr::new(host, port),
                token: (!server.no_token).then(|| server.token.unwrap_or(TokenSource::Project)),
                allowed_hosts: hosts.map(|HostName(name)| name).collect(),
                allowed_origins: origins.map(|BrowserOrigin(origin)| origin).collect(),
                max_body_bytes: server.max_body_bytes.expect(COMPLETE).get(),
            },
            http,
            memory_folder: layer.memory.folder.expect(COMPLETE).0,
            context,
            state_folder: state_location.folder.clone(),
            state_location,
            project,
            private,
            approve: layer.policy.approve.expect(COMPLETE),
            secrets: layer.secrets.into_settings(),
            tools: layer.tools,
            otlp_endpoint: layer.telemetry.otlp_endpoint.map(|endpoint| endpoint.0),
            fuzz,
            campaign,
            root,
            source,
            trust: Arc::new(trust),
        })
    }

    /// Returns the path of the configuration file, if there is one.
    pub fn config_file(&self) -> Option<&Path> {
        self.source.as_ref().map(|source| source.path.as_path())
    }

    /// Returns the text of the configuration file as it was read; empty without a file.
    pub(crate) fn config_text(&self) -> &str {
        self.source.as_ref().map(|source| source.text.as_str()).unwrap_or_default()
    }

    /// Returns the folders that no upstream may read: the state, the audit keys and the records of trusted folders.
    pub(crate) fn hidden_folders(&self) -> Vec<PathBuf> {
        let mut folders = self.state_location.hidden_folders(&self.root);
        folders.extend(self.trust.records_folder().map(Path::to_owned));
        folders
    }

    /// Returns the deny list of the project: files that neither tools nor sandboxed upstreams may read.
    pub fn deny_list(&self) -> DenyList {
        self.secrets.deny_list(&self.private)
    }

    /// Returns the `[tools.<name>]` table, empty if there is none.
    pub(crate) fn tool_layer(&self, name: &str) -> ToolLayer {
        self.tools.get(name).cloned().unwrap_or_default()
    }

    /// Returns the approval policy of a tool; `None` if its calls need no approval.
    pub fn approval_policy(&self, name: &str, by_contract: bool) -> Option<ApprovalPolicy> {
        self.tool_layer(name).approve.or(by_contract.then_some(self.approve))
    }

    /// Returns an error if a configured tool does not exist, because its limits would silently have no effect.
    pub(crate) fn check_tools(&self, known: &[&str]) -> Result<(), ConfigError> {
        // The tools of upstreams that were left out are not known.
        if self.are_packs_chosen || !self.trust.is_granted() {
            return Ok(());
        }
        // Tools of upstreams are known only to the gateway, once it has listed them.
        let ours = self.tools.keys().filter(|name| self.upstream_of(name).is_none());
        match ours.into_iter().find(|name| !known.contains(&name.as_str())) {
            Some(tool) => Err(self.unknown_tool_error(tool, known)),
            None => Ok(()),
        }
    }

    /// Returns the upstream of a catalog name, and the tool's name at the upstream.
    pub fn upstream_of<'n>(&self, tool: &'n str) -> Option<(&UpstreamConfig, &'n str)> {
        self.upstreams.iter().find_map(|upstream| {
            let rest = tool.strip_prefix(upstream.name.as_str())?;
            Some((upstream, rest.strip_prefix(self.gateway.separator.as_str())?))
        })
    }

    /// Returns the error for a configured tool that does not exist.
    pub(crate) fn unknown_tool_error(&self, tool: &str, known: &[&str]) -> ConfigError {
        let spot = match &self.source {
            Some(source) => source.locate_key(&["tools", tool]),
            None => ConfigLocation { file: super::FILE_NAME.into(), line: 1 },
        };
        let suggestion = suggest_name(tool, known, "tools");
        ConfigError::UnknownTool { spot, tool: tool.to_owned(), suggestion }
    }
}
