//! Checks that upstreams have the secrets they need. No upstream is started.

use contract::text::one_line;

use crate::config::Settings;
use crate::env::Environment;

use super::DoctorCheck;

/// Checks every enabled upstream and returns the results.
pub(super) fn check_upstreams(settings: &Settings, environment: &Environment) -> Vec<DoctorCheck> {
    let enabled = settings.upstreams.iter().filter(|upstream| upstream.enabled);
    enabled
        .flat_map(|upstream| {
            let first = match upstream.resolve_secrets(environment, &settings.root) {
                Ok(_) => DoctorCheck::ok("upstream", upstream.name.as_str()),
                Err(error) => {
                    let message = format!("{error}: {}", error.source);
                    let fix = "set it in the environment of vouch, or remove it from vouch.toml";
                    DoctorCheck::warn("upstream", message, fix)
                }
            };
            let exposed = upstream.exposed_files(&settings.root).into_iter().map(|path| {
                let shown = one_line(&path.to_string_lossy());
                let message = format!("{shown} is readable by other users");
                DoctorCheck::warn("upstream", message, format!("run `chmod 600 {shown}`"))
            });
            std::iter::once(first).chain(exposed)
        })
        .collect()
}
