//! What the context pack needs: an index that can be read, enough watches, and something that makes vectors.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::config::{EmbeddingEndpoint, Embeddings, Pack, Settings};
use crate::project;
use embed::Embedder;

use super::Check;
use super::checks::chain;
use crate::project::look::{self, summary};

/// Where the kernel says how many folders one user may watch.
const WATCH_LIMIT: &str = "/proc/sys/fs/inotify/max_user_watches";
/// How long a big project is looked at.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn all(settings: &Settings) -> Vec<Check> {
    if !settings.packs.contains(&Pack::Context) {
        return Vec::new();
    }
    let mut checks = Vec::new();
    // Looking must not make a state folder.
    if settings.state_folder.is_dir() {
        checks.extend(index(settings));
    } else {
        checks.push(Check::ok("index", "a server builds it, or now: vouch index"));
    }
    checks.push(embeddings(settings).await);
    checks
}

fn index(settings: &Settings) -> Vec<Check> {
    let status = match look::status(settings, PATIENCE) {
        Ok(status) => status,
        Err(failure) => {
            return vec![Check::fail("index", failure.one_line(), failure.first_hint())];
        }
    };
    let mut checks = vec![match status.pending {
        0 => Check::ok("index", summary(&status)),
        pending => {
            let message = format!("{}; {pending} files are not read yet", summary(&status));
            Check::warn("index", message, "a server goes on with it, or now: vouch index")
        }
    }];
    if settings.context.watch && !status.watching {
        let limit = std::fs::read_to_string(WATCH_LIMIT).unwrap_or_default();
        let message = format!(
            "changes are not noticed as they happen, so each call looks at every file (the system allows {} watches)",
            limit.trim()
        );
        let fix = "sudo sysctl fs.inotify.max_user_watches=524288, or [context] watch = false";
        checks.push(Check::warn("watch", message, fix));
    }
    checks
}

async fn embeddings(settings: &Settings) -> Check {
    const CHECK: &str = "vectors";
    let embedder = match project::context::embedder(settings) {
        Ok(Some(embedder)) => embedder,
        Ok(None) => return Check::ok(CHECK, "off: searches go by words alone"),
        Err(failure) => return Check::fail(CHECK, failure.one_line(), failure.first_hint()),
    };
    let tried = tokio::task::spawn_blocking(move || try_out(&embedder)).await;
    match (tried, &settings.context.embeddings) {
        (Ok(Ok(said)), Embeddings::Endpoint(endpoint)) => match exposed(endpoint) {
            true => Check::warn(
                CHECK,
                format!("{said}; the key goes over the network in the clear"),
                "use an https:// address in [context.embeddings] base_url",
            ),
            false => Check::ok(CHECK, format!("{said}, from {}", endpoint.base_url)),
        },
        (Ok(Ok(said)), _) => Check::ok(CHECK, said),
        (Ok(Err(why)), Embeddings::Endpoint(endpoint)) => {
            let key = match endpoint.api_key {
                Some(_) => format!("is the key in {} right", endpoint.api_key_env),
                None => {
                    format!("does it want a key (in {}, which is not set)", endpoint.api_key_env)
                }
            };
            let fix = format!("is {} up, does it have the model, {key}?", endpoint.base_url);
            Check::fail(CHECK, why, fix)
        }
        (Ok(Err(why)), _) => {
            Check::fail(CHECK, why, "search by words: [context.embeddings] provider = \"off\"")
        }
        (Err(_), _) => Check::fail(CHECK, "the model failed unexpectedly", "run again with -v"),
    }
}

/// Makes one vector; says of which model and how quickly.
fn try_out(embedder: &Arc<dyn Embedder>) -> Result<String, String> {
    let began = Instant::now();
    let vectors = embedder.embed(&["one text"]).map_err(|error| chain(&error))?;
    let length = vectors.first().map_or(0, Vec::len);
    let took = began.elapsed().as_millis();
    Ok(format!("{} with {length} dimensions, first vector in {took} ms", embedder.model().id))
}

/// Whether the key leaves this machine without encryption.
fn exposed(endpoint: &EmbeddingEndpoint) -> bool {
    let uri: Option<http::Uri> = endpoint.base_url.parse().ok();
    let host = uri.as_ref().and_then(http::Uri::host).unwrap_or_default().trim_matches(['[', ']']);
    endpoint.api_key.is_some()
        && endpoint.base_url.starts_with("http://")
        && !runtime::doors::http::is_loopback(host)
}
