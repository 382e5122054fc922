//! Vectors from a server that speaks OpenAI's embeddings protocol: OpenAI itself, Ollama, vLLM and others.
//!
//! `patience.rs` decides whether to ask again and when, `request.rs` asks once, `wire.rs` holds what goes over the wire
//! and what makes an answer acceptable. The server is not trusted: its answers are bounded in time and size, counted,
//! and quoted only in short.

mod patience;
mod request;
mod wire;

use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::Url;
use secrecy::SecretString;
use sha2::{Digest, Sha256};

use self::patience::Patience;
use self::request::Client;
use crate::{EmbedError, Embedder, Model};

/// OpenAI takes 2,048 texts at once, smaller servers run out of memory long before.
const BATCH_TEXTS: usize = 96;
const BATCH_BYTES: usize = 200_000;

/// What is needed to ask a server. It holds a key, so it cannot be printed.
pub struct EndpointOptions {
    /// Up to and without `/embeddings`, such as `https://api.openai.com/v1`.
    pub base_url: String,
    pub model: String,
    /// Asked for where given; the vectors must then have them.
    pub dimensions: Option<usize>,
    pub api_key: Option<SecretString>,
    /// For a query, with all attempts. A batch of documents may take ten times as long.
    pub timeout: Duration,
}

/// An [`Embedder`] that asks a server.
///
/// Nothing is sent before the first text. Calls block, so they must not be made on a thread that drives futures.
pub struct Endpoint {
    model: Model,
    client: Client,
    is_remote: bool,
    timeout: Duration,
    /// The length of the vectors: as given, or that of the first.
    dims: OnceLock<usize>,
}

impl Endpoint {
    pub fn new(options: EndpointOptions) -> Result<Self, EmbedError> {
        let url = embeddings_url(&options.base_url)?;
        let model = Model {
            id: options.model.clone(),
            dims: options.dimensions,
            hash: identity(&url, &options.model, options.dimensions),
        };
        let dims = options.dimensions.map_or_else(OnceLock::new, OnceLock::from);
        let timeout = options.timeout;
        let is_remote = !is_here(&url);
        let client = Client::new(url, options.model, options.dimensions, options.api_key)?;
        Ok(Self { model, client, is_remote, timeout, dims })
    }

    fn ask(&self, texts: &[&str], mut patience: Patience) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vectors = loop {
            let attempt = self.client.ask(texts, patience.deadline());
            match attempt.and_then(|answer| wire::vectors(&answer, texts.len(), self.dims.get())) {
                Ok(vectors) => break vectors,
                Err(error) => patience.after(error)?,
            }
        };
        if let Some(vector) = vectors.first() {
            let dims = *self.dims.get_or_init(|| vector.len());
            wire::same_length(&vectors, dims)?;
        }
        Ok(vectors)
    }
}

impl Embedder for Endpoint {
    fn model(&self) -> &Model {
        &self.model
    }

    fn is_remote(&self) -> bool {
        self.is_remote
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in batches(texts) {
            vectors.extend(self.ask(batch, Patience::for_documents(self.timeout))?);
        }
        Ok(vectors)
    }

    fn embed_query(&self, query: &str) -> Result<Vec<f32>, EmbedError> {
        let vectors = self.ask(&[query], Patience::for_a_query(self.timeout))?;
        Ok(vectors.into_iter().next().expect("the answer was counted"))
    }
}

/// As many texts as one request takes; a text that is too long for that goes alone.
fn batches<'a, 'b>(texts: &'a [&'b str]) -> impl Iterator<Item = &'a [&'b str]> {
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

fn embeddings_url(base_url: &str) -> Result<Url, EmbedError> {
    let wrong = |rule: &str| EmbedError::Config(format!("base_url {rule}"));
    // The address is not quoted: it may hold a password.
    let mut url = Url::parse(base_url.trim())
        .map_err(|_| wrong("is not an address, write it like https://api.openai.com/v1"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("must not hold a user or a password, give the key as the API key"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("must not hold ? or #"));
    }
    let path = format!("{}/embeddings", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

/// Whether the server is on this machine, as its address says.
fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Vectors may be compared if address, model and dimensions are the same; the key has no part in it.
fn identity(url: &Url, model: &str, dimensions: Option<usize>) -> String {
    let parts = format!("{url}\n{model}\n{dimensions:?}");
    Sha256::digest(parts).iter().map(|byte| format!("{byte:02x}")).collect()
}
