//! The checks of the context pack: a readable index, enough file watches, and a working embedding model.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::config::{EmbeddingEndpoint, EmbeddingSettings, Settings, ToolPack};
use crate::project;
use contract::text::error_chain;
use embed::Embedder;

use super::DoctorCheck;
use crate::project::index_status::{self, summarize_index};

/// Kernel limit of watched folders per user.
const WATCH_LIMIT: &str = "/proc/sys/fs/inotify/max_user_watches";
/// Maximum time for scanning a large project.
const SCAN_TIMEOUT: Duration = Duration::from_secs(5);

/// Checks the context pack; returns nothing if the pack is not enabled.
pub(super) async fn check_context(settings: &Settings) -> Vec<DoctorCheck> {
    if !settings.packs.contains(&ToolPack::Context) {
        return Vec::new();
    }
    let mut checks = Vec::new();
    // The check must not create a state folder.
    if settings.state_folder.is_dir() {
        checks.extend(check_index(settings));
    } else {
        checks.push(DoctorCheck::ok(
            "index",
            "built when a server starts; to build it now, run `vouch index`",
        ));
    }
    checks.push(check_embeddings(settings).await);
    checks
}

fn check_index(settings: &Settings) -> Vec<DoctorCheck> {
    let status = match index_status::read_index_status(settings, SCAN_TIMEOUT) {
        Ok(status) => status,
        Err(failure) => {
            return vec![DoctorCheck::fail("index", failure.to_one_line(), failure.first_hint())];
        }
    };
    let mut checks = vec![match status.pending {
        0 => DoctorCheck::ok("index", summarize_index(&status)),
        pending => {
            let message = format!("{}; {pending} files not indexed yet", summarize_index(&status));
            DoctorCheck::warn("index", message, "start a server, or run `vouch index`")
        }
    }];
    if settings.context.watch && !status.watching {
        let limit = std::fs::read_to_string(WATCH_LIMIT).unwrap_or_default();
        let message = format!(
            "file watching is unavailable, so each call checks every file (the system allows {} watches)",
            limit.trim()
        );
        let fix = "run `sudo sysctl fs.inotify.max_user_watches=524288`, or set `watch = false` in [context]";
        checks.push(DoctorCheck::warn("watch", message, fix));
    }
    checks
}

async fn check_embeddings(settings: &Settings) -> DoctorCheck {
    const CHECK: &str = "vectors";
    let embedder = match project::context::create_embedder(settings) {
        Ok(Some(embedder)) => embedder,
        Ok(None) => return DoctorCheck::ok(CHECK, "off: searches match words only"),
        Err(failure) => {
            return DoctorCheck::fail(CHECK, failure.to_one_line(), failure.first_hint());
        }
    };
    let tried = tokio::task::spawn_blocking(move || embed_sample(&embedder)).await;
    match (tried, &settings.context.embeddings) {
        (Ok(Ok(summary)), EmbeddingSettings::Endpoint(endpoint)) => {
            match sends_key_unencrypted(endpoint) {
                true => DoctorCheck::warn(
                    CHECK,
                    format!("{summary}; the key is sent unencrypted over the network"),
                    "use an https:// URL as `base_url` in [context.embeddings]",
                ),
                false => DoctorCheck::ok(CHECK, format!("{summary}, from {}", endpoint.base_url)),
            }
        }
        (Ok(Ok(summary)), _) => DoctorCheck::ok(CHECK, summary),
        (Ok(Err(why)), EmbeddingSettings::Endpoint(endpoint)) => {
            let key = match endpoint.api_key {
                Some(_) => format!("the key in {} is valid", endpoint.api_key_env),
                None => {
                    format!("it needs no key ({} is not set)", endpoint.api_key_env)
                }
            };
            let fix =
                format!("check that {} is up, has the model, and that {key}", endpoint.base_url);
            DoctorCheck::fail(CHECK, why, fix)
        }
        (Ok(Err(why)), _) => DoctorCheck::fail(
            CHECK,
            why,
            "search by words only: set `provider = \"off\"` in [context.embeddings]",
        ),
        (Err(_), _) => {
            DoctorCheck::fail(CHECK, "the embedding model crashed", "run again with `-v`")
        }
    }
}

/// Embeds a sample text and returns a summary of model, dimensions and time.
fn embed_sample(embedder: &Arc<dyn Embedder>) -> Result<String, String> {
    let began = Instant::now();
    let vectors = embedder.embed(&["one text"]).map_err(|error| error_chain(&error))?;
    let length = vectors.first().map_or(0, Vec::len);
    let took = began.elapsed().as_millis();
    Ok(format!("{} with {length} dimensions, first vector in {took} ms", embedder.model().id))
}

/// Returns true if the key leaves this machine unencrypted.
fn sends_key_unencrypted(endpoint: &EmbeddingEndpoint) -> bool {
    let uri: Option<http::Uri> = endpoint.base_url.parse().ok();
    let host = uri.as_ref().and_then(http::Uri::host).unwrap_or_default().trim_matches(['[', ']']);
    endpoint.api_key.is_some()
        && endpoint.base_url.starts_with("http://")
        && !runtime::transports::http::is_loopback(host)
}
