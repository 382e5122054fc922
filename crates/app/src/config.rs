//! Configuration: defaults, `vouch.toml`, environment and flags, merged into one validated [`Settings`].
//!
//! ```text
//!  config/defaults.toml ─┐
//!  vouch.toml            ├─► ConfigLayer (raw, every value checked at its location) ──► Settings (used by commands)
//!  environment           │
//!  flags                ─┘    later layers win
//! ```
//!
//! An error names file and line; an unknown key is reported with the nearest known one. Start at [`load_settings`].

mod ask;
mod campaign;
mod clients;
mod context;
mod error;
mod find;
mod fuzz;
mod gateway;
mod globs;
mod keys;
mod layer;
mod location;
mod parse;
mod private;
mod reference;
mod rule;
mod settings;
mod upstream;
mod values;

pub use ask::{ModelProvider, PlannerConfig};
pub use campaign::{CampaignPackSettings, CampaignTarget, pair_targets};
pub use context::{EmbeddingEndpoint, EmbeddingSettings};
pub use error::{ConfigError, nearest_name, suggest_name};
pub use layer::ConfigLayer;
pub use reference::SecretReference;
pub use settings::{ApprovalPolicy, Settings, TokenSource, ToolPack};
pub use upstream::{
    DefinitionChange, SandboxConfig, SandboxGrants, UnresolvedSecretError, UpstreamConfig,
    UpstreamConnection, UpstreamName, UpstreamPolicy,
};
pub(crate) use values::VariableName;
pub use values::{EndpointUrl, ListenHost, ServerUrl};

use std::path::{Path, PathBuf};

use crate::env::{EnvVar, Environment};
use crate::failure::{Failure, FailureKind};

/// The file that `vouch init` writes: every key with its default, commented out.
pub const TEMPLATE: &str = include_str!("config/template.toml");
const DEFAULTS: &str = include_str!("config/defaults.toml");
/// The name of the configuration file.
pub const FILE_NAME: &str = "vouch.toml";

/// The project's location as given on the command line.
#[derive(Clone, Debug, Default)]
pub struct ProjectLocation {
    /// Value of `--root`.
    pub root: Option<PathBuf>,
    /// Value of `--config`.
    pub config: Option<PathBuf>,
}

/// The text of a configuration file.
#[derive(Clone, Debug)]
pub struct ConfigSource {
    pub path: PathBuf,
    pub text: String,
}

/// Reads all layers, merges and validates them.
pub fn load_settings(
    place: &ProjectLocation,
    environment: &Environment,
    flags: ConfigLayer,
) -> Result<Settings, ConfigError> {
    let here = std::env::current_dir().map_err(ConfigError::NoCurrentFolder)?;
    load_from(&here, place, environment, flags)
}

fn load_from(
    here: &Path,
    place: &ProjectLocation,
    environment: &Environment,
    flags: ConfigLayer,
) -> Result<Settings, ConfigError> {
    let given = |flag: &Option<PathBuf>, var| {
        flag.clone().or_else(|| environment.get(var).map(PathBuf::from)).map(|path| here.join(path))
    };
    let located = find::locate_project(
        here,
        given(&place.root, EnvVar::Root),
        given(&place.config, EnvVar::Config),
    )?;
    build_settings(here, located, environment, flags)
}

/// Returns the settings that the file would load to with another text, before the file is changed.
pub fn preview_settings(
    settings: &Settings,
    file: &Path,
    text: String,
    environment: &Environment,
) -> Result<Settings, ConfigError> {
    let source = ConfigSource { path: file.to_owned(), text };
    let located = find::LocatedProject { root: settings.root.clone(), source: Some(source) };
    build_settings(&settings.root, located, environment, ConfigLayer::default())
}

fn build_settings(
    here: &Path,
    located: find::LocatedProject,
    environment: &Environment,
    flags: ConfigLayer,
) -> Result<Settings, ConfigError> {
    let file = match &located.source {
        Some(source) => ConfigLayer::from_file(source)?,
        None => ConfigLayer::default(),
    };
    let defaults = ConfigSource { path: "defaults.toml".into(), text: DEFAULTS.to_owned() };
    let mut defaults = ConfigLayer::from_file(&defaults)?;
    defaults.server.port = flags.default_port.or(defaults.server.port);
    let layer = flags
        .merge_over(ConfigLayer::from_environment(here, environment)?)
        .merge_over(file)
        .merge_over(defaults);
    Settings::new(located, layer, environment)
}

/// Converts a configuration error into a usage failure with its hint.
pub fn config_failure(error: ConfigError) -> Failure {
    let hint = error.hint();
    Failure::from(error).with_hint(hint).with_kind(FailureKind::Usage)
}

#[cfg(test)]
mod tests;
