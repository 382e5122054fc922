//! The context of a command: environment, project location, and the sink for text meant for people.

use std::fmt;
use std::sync::Arc;

use crate::config::{self, ConfigLayer, ProjectLocation, Settings, config_failure};
use crate::env::Environment;
use crate::failure::{Failure, Result};

/// Receives text for people. The binary writes it to the terminal; this crate never prints.
pub trait NoticeSink: fmt::Debug + Send + Sync {
    /// Shows a remark, unless the user asked for quiet.
    fn note(&self, text: fmt::Arguments<'_>);

    /// Shows a warning that stops nothing, unless the user asked for quiet.
    fn warn(&self, text: fmt::Arguments<'_>);

    /// Shows a failure that does not end the command.
    fn report(&self, failure: &Failure);
}

/// The context that every command shares.
#[derive(Clone, Debug)]
pub struct AppContext {
    /// The environment variables as they were at the start.
    pub environment: Environment,
    /// The project's location as given on the command line.
    pub location: ProjectLocation,
    /// The sink for text meant for people.
    pub notices: Arc<dyn NoticeSink>,
}

impl AppContext {
    /// Loads and checks the configuration without flags.
    pub fn settings(&self) -> Result<Settings> {
        self.settings_with(ConfigLayer::default())
    }

    /// Loads and checks the configuration; `flags` override all other layers.
    pub fn settings_with(&self, flags: ConfigLayer) -> Result<Settings> {
        config::load_settings(&self.location, &self.environment, flags).map_err(config_failure)
    }
}
