//! The `[context]` table: excluded folders, file watching, threads and embeddings of the context pack.

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;

use super::values::{EndpointUrl, ExcludedFolder, ThreadCount, VariableName};
use super::{ConfigError, ConfigSource};
use crate::env::Environment;

/// Raw values of the `[context]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct ContextLayer {
    pub(super) exclude: Option<Vec<ExcludedFolder>>,
    pub(super) watch: Option<bool>,
    pub(super) threads: Option<ThreadCount>,
    pub(super) embeddings: EmbeddingsLayer,
}

/// Raw values of the `[context.embeddings]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct EmbeddingsLayer {
    pub(super) provider: Option<EmbeddingProvider>,
    pub(super) base_url: Option<EndpointUrl>,
    pub(super) model: Option<String>,
    pub(super) dimensions: Option<NonZeroUsize>,
    pub(super) api_key_env: Option<VariableName>,
    pub(super) timeout_ms: Option<NonZeroU64>,
}

/// The value of `provider` in `[context.embeddings]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EmbeddingProvider {
    Embedded,
    Endpoint,
    Off,
}

impl std::str::FromStr for EmbeddingProvider {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "embedded" => Ok(Self::Embedded),
            "endpoint" => Ok(Self::Endpoint),
            "off" => Ok(Self::Off),
            _ => Err(format!(
                "unknown provider \"{text}\"; expected `embedded`, `endpoint` or `off`"
            )),
        }
    }
}

impl ContextLayer {
    /// Returns this layer with missing values taken from the lower one.
    pub(super) fn merge_over(self, lower: Self) -> Self {
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

/// The validated `[context]` table.
#[derive(Clone, Debug)]
pub struct ContextSettings {
    /// Folders to leave out, in addition to the ignore files.
    pub(crate) exclude: Vec<String>,
    pub watch: bool,
    /// Background threads.
    pub threads: NonZeroUsize,
    pub embeddings: EmbeddingSettings,
}

/// The source of embedding vectors.
#[derive(Clone, Debug)]
pub enum EmbeddingSettings {
    Off,
    Embedded,
    Endpoint(EmbeddingEndpoint),
}

/// An OpenAI-compatible embedding server.
#[derive(Clone, Debug)]
pub struct EmbeddingEndpoint {
    pub base_url: String,
    pub model: String,
    pub dimensions: Option<usize>,
    /// Variable that holds the key. Its value is never printed.
    pub api_key_env: String,
    pub api_key: Option<SecretString>,
    pub timeout: Duration,
}

impl ContextSettings {
    /// Validates the table and reads the API key.
    pub(super) fn new(
        layer: ContextLayer,
        source: Option<&ConfigSource>,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        const COMPLETE: &str = "defaults.toml sets it";
        let embeddings = layer.embeddings;
        let needed = |key: &'static str| ConfigError::IncompleteEndpoint {
            spot: source.map(|source| source.locate_key(&["context", "embeddings"])),
            key,
        };
        let embeddings = match embeddings.provider.expect(COMPLETE) {
            EmbeddingProvider::Off => EmbeddingSettings::Off,
            EmbeddingProvider::Embedded => EmbeddingSettings::Embedded,
            EmbeddingProvider::Endpoint => {
                let VariableName(api_key_env) = embeddings.api_key_env.expect(COMPLETE);
                let timeout = embeddings.timeout_ms.expect(COMPLETE);
                EmbeddingSettings::Endpoint(EmbeddingEndpoint {
                    base_url: embeddings.base_url.ok_or_else(|| needed("base_url"))?.0,
                    model: embeddings.model.ok_or_else(|| needed("model"))?,
                    dimensions: embeddings.dimensions.map(NonZeroUsize::get),
                    api_key: environment.read_secret(&api_key_env),
                    api_key_env,
                    timeout: Duration::from_millis(timeout.get()),
                })
            }
        };
        let exclude = layer.exclude.expect(COMPLETE).into_iter();
        Ok(Self {
            exclude: exclude.map(|ExcludedFolder(folder)| folder).collect(),
            watch: layer.watch.expect(COMPLETE),
            threads: layer.threads.map_or_else(half_of_cores, |ThreadCount(threads)| threads),
            embeddings,
        })
    }
}

/// Returns half of the cores, to leave the others to calls and other programs.
fn half_of_cores() -> NonZeroUsize {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::new(cores / 2).unwrap_or(NonZeroUsize::MIN)
}
