//! The context of a command: environment, project location, and the sink for text meant for people.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::config::{self, ConfigLayer, ProjectLocation, Settings, config_failure};
use crate::env::Environment;
use crate::failure::{Failure, Result};
use crate::trust::{FolderTrust, TrustState, TrustStoreError};

/// Receives text for people. The binary writes it to the terminal; this crate never prints.
pub trait NoticeSink: fmt::Debug + Send + Sync {
    /// Shows a remark, unless the user asked for quiet.
    fn note(&self, text: fmt::Arguments<'_>);

    /// Shows a warning that stops nothing, unless the user asked for quiet.
    fn warn(&self, text: fmt::Arguments<'_>);

    /// Shows a failure that does not end the command.
    fn report(&self, failure: &Failure);

    /// Shows how a trusted folder changed, and returns true if the user trusts it again. Returns false without a
    /// terminal.
    fn confirm_trust(&self, trust: &FolderTrust) -> bool;
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
    /// Roots whose notice about what was left out has been shown; some commands load settings more than once.
    notified: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl AppContext {
    pub fn new(
        environment: Environment,
        location: ProjectLocation,
        notices: Arc<dyn NoticeSink>,
    ) -> Self {
        Self { environment, location, notices, notified: Arc::default() }
    }

    /// Loads and checks the configuration without flags.
    pub fn settings(&self) -> Result<Settings> {
        self.settings_with(ConfigLayer::default())
    }

    /// Loads and checks the configuration; `flags` override all other layers.
    pub fn settings_with(&self, flags: ConfigLayer) -> Result<Settings> {
        self.settings_at(&self.location, flags)
    }

    /// Loads and checks the configuration of the project at a location. This is the one way to settings that a command
    /// acts on: it says what was left out, and asks again if a trusted folder changed.
    pub(crate) fn settings_at(
        &self,
        location: &ProjectLocation,
        flags: ConfigLayer,
    ) -> Result<Settings> {
        let mut settings = self.load(location, flags.clone())?;
        let is_notified = self.notified.lock().contains(settings.trust.root());
        if settings.trust.state == TrustState::Changed && !is_notified {
            let trust = Arc::clone(&settings.trust);
            if self.notices.confirm_trust(&trust) {
                trust.accept().map_err(trust_failure)?;
                settings = self.load(location, flags)?;
            }
        }
        self.notify(&settings.trust);
        Ok(settings)
    }

    /// Says what an untrusted folder does not get, for commands that use no settings. A configuration that cannot be read
    /// is not their problem.
    pub fn notify_left_out(&self) {
        let trust = config::judge_folder_for_run(&self.location, &self.environment);
        if let Ok(trust) = trust {
            self.notify(&trust);
        }
    }

    /// Says what was left out of a folder, once for each.
    fn notify(&self, trust: &FolderTrust) {
        if let Some(notice) = trust.left_out_notice()
            && self.notified.lock().insert(trust.root().to_owned())
        {
            self.notices.warn(format_args!("{notice}"));
        }
    }

    /// Loads the configuration again for a running server. Errors if a trusted folder changed, because the user of a
    /// running server cannot be asked.
    pub fn reload_settings(&self, flags: ConfigLayer) -> Result<Settings> {
        let settings = self.load(&self.location, flags)?;
        if settings.trust.state == TrustState::Changed {
            let message = "the folder changed after it was trusted";
            return Err(Failure::new(message).with_hint("run `vouch trust`, then reload again"));
        }
        Ok(settings)
    }

    /// Decides on the folder by the user's records, for commands that only describe or change the decision.
    pub fn folder_trust(&self) -> Result<FolderTrust> {
        config::judge_folder(&self.location, &self.environment).map_err(config_failure)
    }

    fn load(&self, location: &ProjectLocation, flags: ConfigLayer) -> Result<Settings> {
        config::load_settings(location, &self.environment, flags).map_err(config_failure)
    }
}

/// Converts a failure to read or write trust records, with its hint.
pub fn trust_failure(error: TrustStoreError) -> Failure {
    let hint = error.hint();
    Failure::from(error).with_hint(hint)
}
