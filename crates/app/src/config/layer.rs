//! One source of configuration, with everything optional.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::ask::AskLayer;
use super::campaign::CampaignLayer;
use super::clients::ClientLayer;
use super::context::{ContextLayer, EmbeddingsLayer};
use super::gateway::GatewayLayer;
use super::rule::RuleLayer;
use super::settings::{Pack, Policy, TokenSource};
use super::upstream::UpstreamLayer;
use super::values::{Endpoint, Folder, Host, HostName, Origin};
use super::{ConfigError, Source};
use crate::env::{Environment, Var};

/// The values of one source of configuration; a missing value leaves the lower layer's.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub struct Layer {
    pub packs: Option<Vec<Pack>>,
    /// By a flag.
    #[serde(skip)]
    pub(super) are_packs_chosen: bool,
    /// For a command that is at home elsewhere, where nobody says anything.
    #[serde(skip)]
    pub(super) default_port: Option<u16>,
    pub(crate) server: ServerLayer,
    pub(crate) memory: MemoryLayer,
    pub(crate) context: ContextLayer,
    pub(crate) policy: PolicyLayer,
    pub(crate) tools: BTreeMap<String, ToolLayer>,
    pub(crate) state: StateLayer,
    pub(crate) telemetry: TelemetryLayer,
    /// Checked when it is lowered, by the rules that hold for Echidna's file.
    pub fuzz: Option<toml::Table>,
    pub(super) campaign: Option<CampaignLayer>,
    pub(super) gateway: GatewayLayer,
    pub(super) upstream: Vec<UpstreamLayer>,
    pub(super) rule: Vec<RuleLayer>,
    pub(super) clients: BTreeMap<String, ClientLayer>,
    pub(super) ask: AskLayer,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct ServerLayer {
    pub(super) host: Option<Host>,
    pub(super) port: Option<u16>,
    pub(super) token_file: Option<PathBuf>,
    /// What `token_file`, a flag or a variable comes to.
    #[serde(skip)]
    pub(super) token: Option<TokenSource>,
    pub(super) allowed_hosts: Option<Vec<HostName>>,
    pub(super) allowed_origins: Option<Vec<Origin>>,
    pub(super) max_body_bytes: Option<NonZeroUsize>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct MemoryLayer {
    pub(super) folder: Option<Folder>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct PolicyLayer {
    pub(super) approve: Option<Policy>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct ToolLayer {
    pub enabled: Option<bool>,
    pub approve: Option<Policy>,
    pub rate_per_minute: Option<NonZeroU32>,
    pub timeout_ms: Option<NonZeroU64>,
    pub max_output_bytes: Option<NonZeroUsize>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct StateLayer {
    pub(super) folder: Option<Folder>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct TelemetryLayer {
    pub(super) otlp_endpoint: Option<Endpoint>,
}

impl Layer {
    /// What flags say of a server. Relative paths are relative to where the command runs.
    pub fn from_server(host: Option<Host>, port: Option<u16>, token_file: Option<PathBuf>) -> Self {
        let token = token_file.map(TokenSource::File);
        let server = ServerLayer { host, port, token, ..ServerLayer::default() };
        Self { server, ..Self::default() }
    }

    /// Other packs than the file says, for this run.
    pub fn with_packs(self, packs: Vec<Pack>) -> Self {
        Self { packs: Some(packs), are_packs_chosen: true, ..self }
    }

    /// Another port than `vouch serve` has, unless somebody chose one.
    pub fn with_default_port(self, port: u16) -> Self {
        Self { default_port: Some(port), ..self }
    }

    /// Relative paths in a file are relative to the file.
    pub(super) fn from_file(source: &Source) -> Result<Self, ConfigError> {
        let mut layer = source.parse()?;
        let folder = source.path.parent().unwrap_or(Path::new(""));
        layer.server.token =
            layer.server.token_file.take().map(|path| TokenSource::File(folder.join(path)));
        Ok(layer)
    }

    pub(super) fn from_environment(
        here: &Path,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        fn parsed<T: std::str::FromStr<Err: ToString>>(
            environment: &Environment,
            var: Var,
        ) -> Result<Option<T>, ConfigError> {
            let parse = |text: &str| {
                text.parse().map_err(|error: T::Err| ConfigError::variable(var, error.to_string()))
            };
            environment.get(var).map(parse).transpose()
        }
        let token = match (environment.get(Var::Token), environment.get(Var::TokenFile)) {
            (Some(_), Some(_)) => return Err(ConfigError::TwoTokens),
            (Some(token), None) => Some(TokenSource::Variable(token.into())),
            (None, Some(path)) => Some(TokenSource::File(here.join(path))),
            (None, None) => None,
        };
        let server = ServerLayer {
            host: parsed(environment, Var::Host)?,
            port: parsed(environment, Var::Port)?,
            token,
            ..ServerLayer::default()
        };
        let telemetry = TelemetryLayer { otlp_endpoint: parsed(environment, Var::OtlpEndpoint)? };
        let embeddings = EmbeddingsLayer {
            provider: parsed(environment, Var::Embeddings)?,
            base_url: parsed(environment, Var::EmbeddingsUrl)?,
            model: environment.get(Var::EmbeddingsModel).map(str::to_owned),
            ..EmbeddingsLayer::default()
        };
        let context = ContextLayer { embeddings, ..ContextLayer::default() };
        let ask = AskLayer {
            base_url: parsed(environment, Var::LlmBaseUrl)?,
            model: environment.get(Var::LlmModel).map(str::to_owned),
            ..AskLayer::default()
        };
        Ok(Self { server, context, telemetry, ask, ..Self::default() })
    }

    /// This layer where it says something, the lower one where it does not.
    pub(super) fn over(self, mut lower: Self) -> Self {
        for (name, tool) in self.tools {
            let below = lower.tools.remove(&name).unwrap_or_default();
            lower.tools.insert(name, tool.over(below));
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
                allowed_hosts: server.allowed_hosts.or(lower.server.allowed_hosts),
                allowed_origins: server.allowed_origins.or(lower.server.allowed_origins),
                max_body_bytes: server.max_body_bytes.or(lower.server.max_body_bytes),
            },
            memory: MemoryLayer { folder: self.memory.folder.or(lower.memory.folder) },
            context: self.context.over(lower.context),
            policy: PolicyLayer { approve: self.policy.approve.or(lower.policy.approve) },
            tools: lower.tools,
            state: StateLayer { folder: self.state.folder.or(lower.state.folder) },
            telemetry: TelemetryLayer {
                otlp_endpoint: self.telemetry.otlp_endpoint.or(lower.telemetry.otlp_endpoint),
            },
            fuzz: self.fuzz.or(lower.fuzz),
            campaign: self.campaign.or(lower.campaign),
            gateway: self.gateway.over(lower.gateway),
            // Only the file has these.
            upstream: [self.upstream, lower.upstream].concat(),
            rule: [self.rule, lower.rule].concat(),
            clients: lower.clients.into_iter().chain(self.clients).collect(),
            ask: self.ask.over(lower.ask),
        }
    }
}

impl ToolLayer {
    fn over(self, lower: Self) -> Self {
        Self {
            enabled: self.enabled.or(lower.enabled),
            approve: self.approve.or(lower.approve),
            rate_per_minute: self.rate_per_minute.or(lower.rate_per_minute),
            timeout_ms: self.timeout_ms.or(lower.timeout_ms),
            max_output_bytes: self.max_output_bytes.or(lower.max_output_bytes),
        }
    }
}
