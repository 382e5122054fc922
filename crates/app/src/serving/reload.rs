//! Reloads the configuration of a running server.
//!
//! Everything that can fail happens before anything changes. Settings that need a restart keep their values, and are
//! named in the log.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use runtime::transports::http::HttpControl;
use runtime::{Pipeline, PipelineOptions};

use super::readiness::ConfigurationCheck;
use crate::config::{ConfigLayer, Settings};
use crate::context::AppContext;
use crate::failure::Result;
use crate::project;

/// Loads the configuration again, with the flags of the start.
pub struct ConfigReloader<'a> {
    pub app: &'a AppContext,
    pub flags: ConfigLayer,
}

impl ConfigReloader<'_> {
    pub(super) fn load(&self) -> Result<Settings> {
        self.app.reload_settings(self.flags.clone())
    }
}

/// The parts of a running server that a reload changes.
pub(super) struct LiveServer {
    pub(super) control: HttpControl,
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) configuration: Arc<ConfigurationCheck>,
}

impl LiveServer {
    /// Applies new settings of the transport and of calls. An error changes nothing.
    pub(super) fn apply(
        &self,
        settings: &Settings,
        options: PipelineOptions,
        checks: &[Arc<dyn runtime::transports::http::ReadinessCheck>],
    ) -> Result {
        let mut http = project::http_options(settings)?;
        http.readiness.extend(checks.iter().map(Arc::clone));
        self.control.replace_options(http)?;
        self.pipeline.replace_options(options);
        Ok(())
    }

    /// Records and logs the result of a reload.
    pub(super) fn report(&self, result: &Result) {
        self.pipeline.metrics().server().record_reload(result.is_ok());
        self.configuration.is_rejected.store(result.is_err(), Ordering::Relaxed);
        match result {
            Ok(()) => tracing::info!("configuration reloaded"),
            Err(failure) => {
                let failure = failure.to_one_line();
                tracing::error!(
                    "failed to reload; the previous configuration stays in use: {failure}"
                );
            }
        }
    }
}

/// Logs the changed settings that need a restart.
pub(super) fn warn_about_restart(before: &Settings, after: &Settings) {
    let mut changed = Vec::new();
    let mut compare = |key: &'static str, is_same: bool| {
        if !is_same {
            changed.push(key);
        }
    };
    compare("packs", before.packs == after.packs);
    compare("server.host, server.port", before.server.address == after.server.address);
    compare("server.max_body_bytes", before.server.max_body_bytes == after.server.max_body_bytes);
    let (old, new) = (&before.http.limits, &after.http.limits);
    compare("limits.session_idle_timeout_ms", old.session_idle_timeout == new.session_idle_timeout);
    compare("limits.queued_messages", old.max_queued_messages == new.max_queued_messages);
    compare("memory.folder", before.memory_folder == after.memory_folder);
    compare("state.folder", before.state_folder == after.state_folder);
    compare("telemetry", before.otlp_endpoint == after.otlp_endpoint);
    compare(
        "secrets.deny, secrets.allow",
        before.secrets.deny == after.secrets.deny && before.secrets.allow == after.secrets.allow,
    );
    compare("audit.key_file", before.audit.keys.key_file() == after.audit.keys.key_file());
    compare(
        "audit.max_file_bytes, audit.max_file_days, audit.keep_files, audit.keep_days",
        before.audit.rotation == after.audit.rotation,
    );
    compare("context", format!("{:?}", before.context) == format!("{:?}", after.context));
    compare("campaign", before.campaign.targets == after.campaign.targets);
    if !changed.is_empty() {
        tracing::warn!("changed settings that need a restart: {}", changed.join("; "));
    }
}
