//! Embeddings from a server with OpenAI's embeddings protocol: OpenAI, Ollama, vLLM and others.
//!
//! `retry.rs` decides whether and when to retry, `client.rs` sends one request, and `wire.rs` encodes requests and
//! validates responses. The server is not trusted: responses are limited in time and size, vectors are counted, and
//! error messages are truncated.

mod client;
mod retry;
mod wire;

use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use endpoint_url::parse_base_url;
use reqwest::Url;
use secrecy::SecretString;
use sha2::{Digest, Sha256};

use self::client::EmbeddingsClient;
use self::retry::RetryPolicy;
use crate::{EmbedError, Embedder, EmbeddingModel};

/// Maximum number of texts per request. OpenAI accepts 2,048; smaller servers run out of memory long before that.
const BATCH_TEXTS: usize = 96;
/// Maximum total size of the texts per request.
const BATCH_BYTES: usize = 200_000;

/// Configuration of an [`EndpointEmbedder`]. It contains an API key, so it does not implement `Debug`.
pub struct EndpointOptions {
    /// Base URL without `/embeddings`, such as `https://api.openai.com/v1`.
    pub base_url: String,
    pub model: String,
    /// Requested number of dimensions. If set, vectors of any other length are an error.
    pub dimensions: Option<usize>,
    pub api_key: Option<SecretString>,
    /// Time limit for a query, including retries. A batch of documents may take ten times as long.
    pub timeout: Duration,
}

/// An [`Embedder`] that calls a server.
///
/// No request is sent before the first text. Calls block, so they must not be made on an async runtime thread.
pub struct EndpointEmbedder {
    model: EmbeddingModel,
    client: EmbeddingsClient,
    is_remote: bool,
    timeout: Duration,
    /// Number of dimensions, as configured or taken from the first vector.
    dims: OnceLock<usize>,
}

impl EndpointEmbedder {
    pub fn new(options: EndpointOptions) -> Result<Self, EmbedError> {
        let url = parse_embeddings_url(&options.base_url)?;
        let model = EmbeddingModel {
            id: options.model.clone(),
            dims: options.dimensions,
            hash: hash_identity(&url, &options.model, options.dimensions),
        };
        let dims = options.dimensions.map_or_else(OnceLock::new, OnceLock::from);
        let timeout = options.timeout;
        let is_remote = !is_loopback_url(&url);
        let client =
            EmbeddingsClient::new(url, options.model, options.dimensions, options.api_key)?;
        Ok(Self { model, client, is_remote, timeout, dims })
    }

    fn request_vectors(
        &self,
        texts: &[&str],
        mut retry: RetryPolicy,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vectors = loop {
            let attempt = self.client.send_request(texts, retry.attempt_deadline());
            match attempt.and_then(|body| wire::decode_vectors(&body, texts.len(), self.dims.get()))
            {
                Ok(vectors) => break vectors,
                Err(error) => retry.wait_after(error)?,
            }
        };
        if let Some(vector) = vectors.first() {
            let dims = *self.dims.get_or_init(|| vector.len());
            wire::check_dimensions(&vectors, dims)?;
        }
        Ok(vectors)
    }
}

impl Embedder for EndpointEmbedder {
    fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    fn is_remote(&self) -> bool {
        self.is_remote
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in split_batches(texts) {
            vectors.extend(self.request_vectors(batch, RetryPolicy::for_documents(self.timeout))?);
        }
        Ok(vectors)
    }

    fn embed_query(&self, query: &str) -> Result<Vec<f32>, EmbedError> {
        let vectors = self.request_vectors(&[query], RetryPolicy::for_query(self.timeout))?;
        Ok(vectors.into_iter().next().expect("the number of vectors was checked"))
    }
}

/// Splits texts into batches of one request each. A text that exceeds the size limit is sent alone.
fn split_batches<'a, 'b>(texts: &'a [&'b str]) -> impl Iterator<Item = &'a [&'b str]> {
    let mut rest = texts;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |text: &&&str| {
            bytes += text.len();
            bytes <= BATCH_BYTES
        };
        let size = rest.iter().take(BATCH_TEXTS).take_while(fits).count();
        let (batch, later) = rest.split_at(size.max(1).min(rest.len()));
        rest = later;
        (!batch.is_empty()).then_some(batch)
    })
}

/// Returns the URL of the embeddings endpoint, or an error if the base URL is invalid.
fn parse_embeddings_url(base_url: &str) -> Result<Url, EmbedError> {
    let mut url = parse_base_url(base_url)
        .map_err(|error| EmbedError::Config(format!("invalid base_url: {error}")))?;
    let path = format!("{}/embeddings", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

/// Returns `true` if the URL refers to this machine.
fn is_loopback_url(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Returns the hash of URL, model and dimensions. Vectors with equal hashes are comparable. The key is not included.
fn hash_identity(url: &Url, model: &str, dimensions: Option<usize>) -> String {
    let parts = format!("{url}\n{model}\n{dimensions:?}");
    Sha256::digest(parts).iter().map(|byte| format!("{byte:02x}")).collect()
}
