//! Configuration: defaults, `vouch.toml`, environment and flags, merged into one validated [`Settings`].
//!
//! ```text
//!  config/defaults.toml ─┐
//!  vouch.toml            ├─► ConfigLayer (raw, every value checked at its location) ──► Settings (used by commands)
//!  environment           │
//!  flags                ─┘    later layers win
//! ```
//!
//! An error names file and line; an unknown key is reported with the nearest known one. Of the file of a folder that its
//! user has not trusted, only keys that restrict apply; see [`crate::trust`]. Start at [`load_settings`].

mod ask;
mod audit;
mod campaign;
mod clients;
mod context;
mod error;
mod find;
mod fuzz;
mod gateway;
mod globs;
mod http;
mod keys;
mod layer;
mod location;
mod memory_budget;
mod parse;
mod private;
mod reference;
mod rule;
mod sandbox;
mod secret_settings;
mod settings;
mod upstream;
mod values;

pub use ask::{ModelProvider, PlannerConfig};
pub use audit::{AuditSettings, SealSettings, SealTarget};
pub use campaign::{CampaignPackSettings, CampaignTarget, pair_targets};
pub(crate) use clients::ClientSettings;
pub use context::{EmbeddingEndpoint, EmbeddingSettings};
pub use error::{ConfigError, nearest_name, suggest_name};
pub use http::HttpSettings;
pub use layer::ConfigLayer;
pub use reference::SecretReference;
pub use sandbox::{SandboxConfig, SandboxGrants, parse_memory};
pub use secret_settings::{SecretOutput, SecretSettings};
pub use settings::{ApprovalPolicy, Settings, TokenSource, ToolPack};
pub use upstream::{
    DefinitionChange, UnresolvedSecretError, UpstreamConfig, UpstreamConnection, UpstreamName,
    UpstreamPolicy,
};
pub(crate) use values::VariableName;
pub use values::{EndpointUrl, ListenHost, ServerUrl};

use std::path::{Path, PathBuf};

use crate::env::{EnvVar, Environment};
use crate::failure::{Failure, FailureKind};
use crate::trust::{FileOwner, FolderTrust, TrustMode, TrustSubject};

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
    /// Value of `--trust`: the folder is trusted for this run.
    pub trust: bool,
}

/// The text of a configuration file.
#[derive(Clone, Debug)]
pub struct ConfigSource {
    pub path: PathBuf,
    pub text: String,
}

/// Parses a configuration file without using it, for fuzzing (crate `parser-fuzz`).
#[doc(hidden)]
pub fn check_config_text(text: &str) -> Result<(), ConfigError> {
    let source = ConfigSource { path: "vouch.toml".into(), text: text.to_owned() };
    ConfigLayer::from_file(&source).map(drop)
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
    let mode = trust_mode(place, environment)?;
    let located = locate_project(here, place, environment, mode)?;
    let (trust, file) = read_file_layer(&located, environment, mode)?;
    build_settings(here, located, environment, flags, file, trust)
}

/// Decides on the folder of a project by the user's records, without building settings.
pub fn judge_folder(
    place: &ProjectLocation,
    environment: &Environment,
) -> Result<FolderTrust, ConfigError> {
    judge_folder_by(TrustMode::Recorded, place, environment)
}

/// Decides on the folder of a project as a run does, without building settings.
pub(crate) fn judge_folder_for_run(
    place: &ProjectLocation,
    environment: &Environment,
) -> Result<FolderTrust, ConfigError> {
    judge_folder_by(trust_mode(place, environment)?, place, environment)
}

fn judge_folder_by(
    mode: TrustMode,
    place: &ProjectLocation,
    environment: &Environment,
) -> Result<FolderTrust, ConfigError> {
    let here = std::env::current_dir().map_err(ConfigError::NoCurrentFolder)?;
    let located = locate_project(&here, place, environment, mode)?;
    Ok(read_file_layer(&located, environment, mode)?.0)
}

fn locate_project(
    here: &Path,
    place: &ProjectLocation,
    environment: &Environment,
    mode: TrustMode,
) -> Result<find::LocatedProject, ConfigError> {
    let given = |flag: &Option<PathBuf>, var| given_path(here, flag, environment, var);
    let owner = match mode {
        TrustMode::ForRun => FileOwner::AnyUser,
        TrustMode::Recorded => FileOwner::CurrentUser,
    };
    let root = given(&place.root, EnvVar::Root);
    find::locate_project(here, root, given(&place.config, EnvVar::Config), owner)
}

fn given_path(
    here: &Path,
    flag: &Option<PathBuf>,
    environment: &Environment,
    var: EnvVar,
) -> Option<PathBuf> {
    let path = flag.clone().or_else(|| environment.get(var).map(PathBuf::from));
    path.map(|path| here.join(path))
}

/// Returns the basis of trust: a flag or variable for this run, or the user's records.
fn trust_mode(
    place: &ProjectLocation,
    environment: &Environment,
) -> Result<TrustMode, ConfigError> {
    let by_variable = match environment.get(EnvVar::Trust) {
        None | Some("0" | "false") => false,
        Some("1" | "true") => true,
        Some(_) => {
            let message = "expected `1` or `0`".to_owned();
            return Err(ConfigError::invalid_variable(EnvVar::Trust, message));
        }
    };
    Ok(if place.trust || by_variable { TrustMode::ForRun } else { TrustMode::Recorded })
}

/// Parses the file and decides on the folder. Without trust, only the part of the file that restricts is returned.
fn read_file_layer(
    located: &find::LocatedProject,
    environment: &Environment,
    mode: TrustMode,
) -> Result<(FolderTrust, ConfigLayer), ConfigError> {
    let source = located.source.as_ref();
    // The whole file is validated first, so that errors are located in it.
    let layer = source.map(ConfigLayer::from_file).transpose()?.unwrap_or_default();
    let subject = TrustSubject::new(&located.root, source);
    let (trust, kept) = FolderTrust::judge(subject, environment, mode);
    let layer = match (trust.is_granted(), source) {
        (true, _) | (_, None) => layer,
        (false, Some(source)) => ConfigLayer::from_table(source, kept)?,
    };
    Ok((trust, layer))
}

/// Returns the settings that the file would load to with another text, before the file is changed.
pub fn preview_settings(
    settings: &Settings,
    file: &Path,
    text: String,
    environment: &Environment,
) -> Result<Settings, ConfigError> {
    let source = ConfigSource { path: file.to_owned(), text };
    let layer = ConfigLayer::from_file(&source)?;
    let located = find::LocatedProject { root: settings.root.clone(), source: Some(source) };
    // The user writes this text, so all of it would apply.
    let subject = TrustSubject::new(&located.root, located.source.as_ref());
    let (trust, _) = FolderTrust::judge(subject, environment, TrustMode::ForRun);
    build_settings(&settings.root, located, environment, ConfigLayer::default(), layer, trust)
}

fn build_settings(
    here: &Path,
    located: find::LocatedProject,
    environment: &Environment,
    flags: ConfigLayer,
    file: ConfigLayer,
    trust: FolderTrust,
) -> Result<Settings, ConfigError> {
    let defaults = ConfigSource { path: "defaults.toml".into(), text: DEFAULTS.to_owned() };
    let mut defaults = ConfigLayer::from_file(&defaults)?;
    defaults.server.port = flags.default_port.or(defaults.server.port);
    let layer = flags
        .merge_over(ConfigLayer::from_environment(here, environment)?)
        .merge_over(file)
        .merge_over(defaults);
    Settings::new(located, layer, environment, trust)
}

/// Converts a configuration error into a usage failure with its hint.
pub fn config_failure(error: ConfigError) -> Failure {
    let hint = error.hint();
    Failure::from(error).with_hint(hint).with_kind(FailureKind::Usage)
}

#[cfg(test)]
mod tests;
