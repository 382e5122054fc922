//! The `[context]` table: what the context pack reads, how hard it works, and what makes its vectors.

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;

use super::values::{Endpoint, Exclude, Threads, Variable};
use super::{ConfigError, Source};
use crate::env::Environment;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct ContextLayer {
    pub(super) exclude: Option<Vec<Exclude>>,
    pub(super) watch: Option<bool>,
    pub(super) threads: Option<Threads>,
    pub(super) embeddings: EmbeddingsLayer,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct EmbeddingsLayer {
    pub(super) provider: Option<Provider>,
    pub(super) base_url: Option<Endpoint>,
    pub(super) model: Option<String>,
    pub(super) dimensions: Option<NonZeroUsize>,
    pub(super) api_key_env: Option<Variable>,
    pub(super) timeout_ms: Option<NonZeroU64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Provider {
    Embedded,
    Endpoint,
    Off,
}

impl std::str::FromStr for Provider {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "embedded" => Ok(Self::Embedded),
            "endpoint" => Ok(Self::Endpoint),
            "off" => Ok(Self::Off),
            _ => Err(format!("`{text}` is none of `embedded`, `endpoint` and `off`")),
        }
    }
}

impl ContextLayer {
    pub(super) fn over(self, lower: Self) -> Self {
        let (own, below) = (self.embeddings, lower.embeddings);
        Self {
            exclude: self.exclude.or(lower.exclude),
            watch: self.watch.or(lower.watch),
            threads: self.threads.or(lower.threads),
            embeddings: EmbeddingsLayer {
                provider: own.provider.or(below.provider),
                base_url: own.base_url.or(below.base_url),
                model: own.model.or(below.model),
                dimensions: own.dimensions.or(below.dimensions),
                api_key_env: own.api_key_env.or(below.api_key_env),
                timeout_ms: own.timeout_ms.or(below.timeout_ms),
            },
        }
    }
}

/// The table as commands use it.
#[derive(Clone, Debug)]
pub struct Context {
    /// Folders to leave out, beside those that the ignore files name.
    pub(crate) exclude: Vec<String>,
    pub watch: bool,
    /// For work in the background.
    pub threads: NonZeroUsize,
    pub embeddings: Embeddings,
}

/// What makes vectors.
#[derive(Clone, Debug)]
pub enum Embeddings {
    Off,
    Embedded,
    Endpoint(EmbeddingEndpoint),
}

/// A server that makes embeddings.
#[derive(Clone, Debug)]
pub struct EmbeddingEndpoint {
    pub base_url: String,
    pub model: String,
    pub dimensions: Option<usize>,
    /// The variable that holds the key; its value is read here and shown nowhere.
    pub api_key_env: String,
    pub api_key: Option<SecretString>,
    pub timeout: Duration,
}

impl Context {
    pub(super) fn new(
        layer: ContextLayer,
        source: Option<&Source>,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        const COMPLETE: &str = "defaults.toml sets it";
        let embeddings = layer.embeddings;
        let needed = |key: &'static str| ConfigError::IncompleteEndpoint {
            spot: source.map(|source| source.spot_of(&["context", "embeddings"])),
            key,
        };
        let embeddings = match embeddings.provider.expect(COMPLETE) {
            Provider::Off => Embeddings::Off,
            Provider::Embedded => Embeddings::Embedded,
            Provider::Endpoint => {
                let Variable(api_key_env) = embeddings.api_key_env.expect(COMPLETE);
                let timeout = embeddings.timeout_ms.expect(COMPLETE);
                Embeddings::Endpoint(EmbeddingEndpoint {
                    base_url: embeddings.base_url.ok_or_else(|| needed("base_url"))?.0,
                    model: embeddings.model.ok_or_else(|| needed("model"))?,
                    dimensions: embeddings.dimensions.map(NonZeroUsize::get),
                    api_key: environment.secret(&api_key_env),
                    api_key_env,
                    timeout: Duration::from_millis(timeout.get()),
                })
            }
        };
        let exclude = layer.exclude.expect(COMPLETE).into_iter();
        Ok(Self {
            exclude: exclude.map(|Exclude(folder)| folder).collect(),
            watch: layer.watch.expect(COMPLETE),
            threads: layer.threads.map_or_else(half_the_cores, |Threads(threads)| threads),
            embeddings,
        })
    }
}

/// The other half is for the calls, and for what else runs on the machine.
fn half_the_cores() -> NonZeroUsize {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::new(cores / 2).unwrap_or(NonZeroUsize::MIN)
}
