//! Whether other servers have what they need to be started. None is started.

use crate::config::Settings;
use crate::env::Environment;

use super::Check;

pub(super) fn all(settings: &Settings, environment: &Environment) -> Vec<Check> {
    let enabled = settings.upstreams.iter().filter(|upstream| upstream.enabled);
    enabled
        .flat_map(|upstream| {
            let first = match upstream.resolve(environment, &settings.root) {
                Ok(_) => Check::ok("upstream", upstream.name.as_str()),
                Err(error) => {
                    let message = format!("{error}: {}", error.source);
                    let fix = "set it where vouch is started, or take it out of vouch.toml";
                    Check::warn("upstream", message, fix)
                }
            };
            let exposed = upstream.exposed(&settings.root).into_iter().map(|path| {
                let shown = path.display();
                let message = format!("{shown} can be read by other users of this machine");
                Check::warn("upstream", message, format!("chmod 600 {shown}"))
            });
            std::iter::once(first).chain(exposed)
        })
        .collect()
}
