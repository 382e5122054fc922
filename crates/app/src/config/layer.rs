//! One configuration layer, with every value optional.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::ask::AskLayer;
use super::audit::AuditLayer;
use super::campaign::CampaignLayer;
use super::clients::ClientLayer;
use super::context::{ContextLayer, EmbeddingsLayer};
use super::gateway::GatewayLayer;
use super::http::{HttpLayer, LimitsLayer};
use super::rule::RuleLayer;
use super::secret_settings::SecretsLayer;
use super::settings::{ApprovalPolicy, TokenSource, ToolPack};
use super::upstream::UpstreamLayer;
use super::values::{BrowserOrigin, EndpointUrl, FolderPath, HostName, ListenHost};
use super::{ConfigError, ConfigSource};
use crate::env::{EnvVar, Environment};

/// The values of one configuration layer; a missing value keeps the lower layer's.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub struct ConfigLayer {
    pub packs: Option<Vec<ToolPack>>,
    /// True if a flag chose the packs.
    #[serde(skip)]
    pub(super) are_packs_chosen: bool,
    /// Default port of a command that differs from `vouch serve`.
    #[serde(skip)]
    pub(super) default_port: Option<u16>,
    pub(crate) server: ServerLayer,
    pub(super) http: HttpLayer,
    pub(super) limits: LimitsLayer,
    pub(crate) memory: MemoryLayer,
    pub(crate) context: ContextLayer,
    pub(crate) policy: PolicyLayer,
    pub(crate) secrets: SecretsLayer,
    pub(crate) tools: BTreeMap<String, ToolLayer>,
    pub(crate) state: StateLayer,
    pub(crate) telemetry: TelemetryLayer,
    /// Validated by the parser of Echidna's file when the settings are built.
    pub fuzz: Option<toml::Table>,
    pub(super) campaign: Option<CampaignLayer>,
    pub(super) gateway: GatewayLayer,
    pub(super) upstream: Vec<UpstreamLayer>,
    pub(super) rule: Vec<RuleLayer>,
    pub(super) clients: BTreeMap<String, ClientLayer>,
    pub(super) ask: AskLayer,
    pub(super) audit: AuditLayer,
}

/// Raw values of the `[server]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct ServerLayer {
    pub(super) host: Option<ListenHost>,
    pub(super) port: Option<u16>,
    pub(super) token_file: Option<PathBuf>,
    /// Token source, from `token_file`, a flag or a variable.
    #[serde(skip)]
    pub(super) token: Option<TokenSource>,
    /// A flag switched tokens off. No file can: a project must not decide who may call.
    #[serde(skip)]
    pub(super) no_token: bool,
    pub(super) allowed_hosts: Option<Vec<HostName>>,
    pub(super) allowed_origins: Option<Vec<BrowserOrigin>>,
    pub(super) max_body_bytes: Option<NonZeroUsize>,
}

/// Raw values of the `[memory]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct MemoryLayer {
    pub(super) folder: Option<FolderPath>,
}

/// Raw values of the `[policy]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct PolicyLayer {
    pub(super) approve: Option<ApprovalPolicy>,
}

/// Raw values of a `[tools.<name>]` table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct ToolLayer {
    pub enabled: Option<bool>,
    pub approve: Option<ApprovalPolicy>,
    pub rate_per_minute: Option<NonZeroU32>,
    pub timeout_ms: Option<NonZeroU64>,
    pub max_output_bytes: Option<NonZeroUsize>,
}

/// Raw values of the `[state]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct StateLayer {
    pub(super) folder: Option<FolderPath>,
}

/// Raw values of the `[telemetry]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct TelemetryLayer {
    pub(super) otlp_endpoint: Option<EndpointUrl>,
}

impl ConfigLayer {
    /// Creates a layer from the server flags. Relative paths are relative to the current folder.
    pub fn from_server_flags(
        host: Option<ListenHost>,
        port: Option<u16>,
        token_file: Option<PathBuf>,
    ) -> Self {
        let token = token_file.map(TokenSource::File);
        let server = ServerLayer { host, port, token, ..ServerLayer::default() };
        Self { server, ..Self::default() }
    }

    /// Switches tokens off for this run.
    pub fn without_token(mut self, is_off: bool) -> Self {
        self.server.no_token = is_off;
        self
    }

    /// Sets the certificate and its key. Relative paths are relative to the current folder.
    pub fn with_tls(mut self, certificate: Option<PathBuf>, key: Option<PathBuf>) -> Self {
        (self.http.tls_cert, self.http.tls_key) = (certificate, key);
        self
    }

    /// Replaces the packs for this run.
    pub fn with_packs(self, packs: Vec<ToolPack>) -> Self {
        Self { packs: Some(packs), are_packs_chosen: true, ..self }
    }

    /// Sets the port to use if none is configured.
    pub fn with_default_port(self, port: u16) -> Self {
        Self { default_port: Some(port), ..self }
    }

    /// Parses a file. Relative paths in it are relative to the file.
    pub(super) fn from_file(source: &ConfigSource) -> Result<Self, ConfigError> {
        let mut layer = source.parse_layer()?;
        layer.place_token_file(source);
        layer.http.place_paths(source);
        Ok(layer)
    }

    /// Returns the layer of a part of a file that was parsed before.
    pub(super) fn from_table(
        source: &ConfigSource,
        part: toml::Table,
    ) -> Result<Self, ConfigError> {
        let mut layer: Self = part.try_into().map_err(|error: toml::de::Error| {
            let spot = source.locate_key(&[]);
            ConfigError::Syntax { spot, message: error.message().to_owned() }
        })?;
        layer.place_token_file(source);
        layer.http.place_paths(source);
        Ok(layer)
    }

    fn place_token_file(&mut self, source: &ConfigSource) {
        let folder = source.path.parent().unwrap_or(Path::new(""));
        self.server.token =
            self.server.token_file.take().map(|path| TokenSource::File(folder.join(path)));
    }

    /// Creates a layer from the environment. Relative paths are relative to the current folder.
    pub(super) fn from_environment(
        here: &Path,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        fn parse_var<T: std::str::FromStr<Err: ToString>>(
            environment: &Environment,
            var: EnvVar,
        ) -> Result<Option<T>, ConfigError> {
            let parse = |text: &str| {
                text.parse()
                    .map_err(|error: T::Err| ConfigError::invalid_variable(var, error.to_string()))
            };
            environment.get(var).map(parse).transpose()
        }
        let token = match (environment.get(EnvVar::Token), environment.get(EnvVar::TokenFile)) {
            (Some(_), Some(_)) => return Err(ConfigError::TwoTokens),
            (Some(token), None) => Some(TokenSource::Variable(token.into())),
            (None, Some(path)) => Some(TokenSource::File(here.join(path))),
            (None, None) => None,
        };
        let server = ServerLayer {
            host: parse_var(environment, EnvVar::Host)?,
            port: parse_var(environment, EnvVar::Port)?,
            token,
            ..ServerLayer::default()
        };
        let telemetry =
            TelemetryLayer { otlp_endpoint: parse_var(environment, EnvVar::OtlpEndpoint)? };
        let embeddings = EmbeddingsLayer {
            provider: parse_var(environment, EnvVar::Embeddings)?,
            base_url: parse_var(environment, EnvVar::EmbeddingsUrl)?,
            model: environment.get(EnvVar::EmbeddingsModel).map(str::to_owned),
            ..EmbeddingsLayer::default()
        };
        let context = ContextLayer { embeddings, ..ContextLayer::default() };
        let ask = AskLayer {
            base_url: parse_var(environment, EnvVar::LlmBaseUrl)?,
            model: environment.get(EnvVar::LlmModel).map(str::to_owned),
            ..AskLayer::default()
        };
        let audit = AuditLayer::from_environment(here, environment);
        Ok(Self { server, context, telemetry, ask, audit, ..Self::default() })
    }

    /// Returns this layer with missing values taken from the lower one.
    pub(super) fn merge_over(self, mut lower: Self) -> Self {
        for (name, tool) in self.tools {
            let below = lower.tools.remove(&name).unwrap_or_default();
            lower.tools.insert(name, tool.merge_over(below));
        }
        let server = self.server;
        Self {
            packs: self.packs.or(lower.packs),
            are_packs_chosen: self.are_packs_chosen || lower.are_packs_chosen,
            default_port: self.default_port.or(lower.default_port),
            server: ServerLayer {
                host: server.host.or(lower.server.host),
                port: server.port.or(lower.server.port),
                token_file: None,
                token: server.token.or(lower.server.token),
                no_token: server.no_token || lower.server.no_token,
                allowed_hosts: server.allowed_hosts.or(lower.server.allowed_hosts),
                allowed_origins: server.allowed_origins.or(lower.server.allowed_origins),
                max_body_bytes: server.max_body_bytes.or(lower.server.max_body_bytes),
            },
            http: self.http.merge_over(lower.http),
            limits: self.limits.merge_over(lower.limits),
            memory: MemoryLayer { folder: self.memory.folder.or(lower.memory.folder) },
            context: self.context.merge_over(lower.context),
            policy: PolicyLayer { approve: self.policy.approve.or(lower.policy.approve) },
            secrets: self.secrets.merge_over(lower.secrets),
            tools: lower.tools,
            state: StateLayer { folder: self.state.folder.or(lower.state.folder) },
            telemetry: TelemetryLayer {
                otlp_endpoint: self.telemetry.otlp_endpoint.or(lower.telemetry.otlp_endpoint),
            },
            fuzz: self.fuzz.or(lower.fuzz),
            campaign: self.campaign.or(lower.campaign),
            gateway: self.gateway.merge_over(lower.gateway),
            // Only files contain these.
            upstream: [self.upstream, lower.upstream].concat(),
            rule: [self.rule, lower.rule].concat(),
            clients: lower.clients.into_iter().chain(self.clients).collect(),
            ask: self.ask.merge_over(lower.ask),
            audit: self.audit.merge_over(lower.audit),
        }
    }
}

impl ToolLayer {
    fn merge_over(self, lower: Self) -> Self {
        Self {
            enabled: self.enabled.or(lower.enabled),
            approve: self.approve.or(lower.approve),
            rate_per_minute: self.rate_per_minute.or(lower.rate_per_minute),
            timeout_ms: self.timeout_ms.or(lower.timeout_ms),
            max_output_bytes: self.max_output_bytes.or(lower.max_output_bytes),
        }
    }
}
