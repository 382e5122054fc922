//! Configuration: defaults, `vouch.toml`, environment and flags, lowered into one validated [`Settings`].
//!
//! ```text
//!  config/defaults.toml ─┐
//!  vouch.toml            ├─► Layer (raw, each value checked where it stands) ──► Settings (what commands use)
//!  environment           │
//!  flags                ─┘    later layers win
//! ```
//!
//! A mistake is reported with file and line, and an unknown key with the nearest known one. Start at [`load`].

mod ask;
mod campaign;
mod check;
mod clients;
mod context;
mod error;
mod find;
mod fuzz;
mod gateway;
mod globs;
mod keys;
mod layer;
mod place;
mod private;
mod reference;
mod rule;
mod settings;
mod upstream;
mod values;

pub use ask::{Planner, Provider};
pub use campaign::{Aim, Campaign, pair};
pub use context::{EmbeddingEndpoint, Embeddings};
pub use error::{ConfigError, nearest, suggest};
pub use layer::Layer;
pub use reference::Reference;
pub use settings::{Pack, Policy, Settings, TokenSource};
pub use upstream::{
    Change, Connection, Grants, NotResolved, Sandbox, Upstream, UpstreamName, UpstreamPolicy,
};
pub(crate) use values::Variable;
pub use values::{Address, Endpoint, Host};

use std::path::{Path, PathBuf};

use crate::env::{Environment, Var};
use crate::failure::{Failure, FailureKind};

/// What `vouch init` writes: every key with its default, commented out.
pub const TEMPLATE: &str = include_str!("config/template.toml");
const DEFAULTS: &str = include_str!("config/defaults.toml");
/// The name of the configuration file.
pub const FILE_NAME: &str = "vouch.toml";

/// What the command line says about where to look.
#[derive(Clone, Debug, Default)]
pub struct Place {
    pub root: Option<PathBuf>,
    pub config: Option<PathBuf>,
}

/// A configuration file as it was read.
#[derive(Clone, Debug)]
pub struct Source {
    pub path: PathBuf,
    pub text: String,
}

/// Reads all layers and checks them.
pub fn load(
    place: &Place,
    environment: &Environment,
    flags: Layer,
) -> Result<Settings, ConfigError> {
    let here = std::env::current_dir().map_err(ConfigError::NoCurrentFolder)?;
    load_from(&here, place, environment, flags)
}

fn load_from(
    here: &Path,
    place: &Place,
    environment: &Environment,
    flags: Layer,
) -> Result<Settings, ConfigError> {
    let given = |flag: &Option<PathBuf>, var| {
        flag.clone().or_else(|| environment.get(var).map(PathBuf::from)).map(|path| here.join(path))
    };
    let located =
        find::locate(here, given(&place.root, Var::Root), given(&place.config, Var::Config))?;
    lower(here, located, environment, flags)
}

/// What another text of the file would come to: it is asked before the file is changed.
pub fn would_be(
    settings: &Settings,
    file: &Path,
    text: String,
    environment: &Environment,
) -> Result<Settings, ConfigError> {
    let source = Source { path: file.to_owned(), text };
    let located = find::Located { root: settings.root.clone(), source: Some(source) };
    lower(&settings.root, located, environment, Layer::default())
}

fn lower(
    here: &Path,
    located: find::Located,
    environment: &Environment,
    flags: Layer,
) -> Result<Settings, ConfigError> {
    let file = match &located.source {
        Some(source) => Layer::from_file(source)?,
        None => Layer::default(),
    };
    let defaults = Source { path: "defaults.toml".into(), text: DEFAULTS.to_owned() };
    let mut defaults = Layer::from_file(&defaults)?;
    defaults.server.port = flags.default_port.or(defaults.server.port);
    let layer = flags.over(Layer::from_environment(here, environment)?).over(file).over(defaults);
    Settings::new(located, layer, environment)
}

/// Turns a mistake in the configuration into a failure with its hint.
pub fn wrong_config(error: ConfigError) -> Failure {
    let hint = error.hint();
    Failure::from(error).with_hint(hint).with_kind(FailureKind::Usage)
}

#[cfg(test)]
mod tests;
