//! Text to vectors: the embedded model, and any OpenAI-compatible endpoint.
//!
//! Start with [`Embedder`], which both implement: [`MiniLm`] needs nothing but this binary, [`Endpoint`] asks a server.
//! [`text`] says which words of a piece of code are worth embedding.
//!
//! All calls block. This crate reads no environment variable, writes no file, and keeps no vectors: who embeds what, and
//! when, is decided above it.

mod endpoint;
mod error;
mod minilm;
mod simd;
pub mod text;
mod wordpiece;

pub use endpoint::{Endpoint, EndpointOptions};
pub use error::EmbedError;
pub use minilm::MiniLm;

/// Turns texts into vectors of length one, so that a dot product is the cosine.
pub trait Embedder: Send + Sync {
    /// What made the vectors; vectors of different models must never be compared.
    fn model(&self) -> &Model;

    /// Whether texts leave this machine to be embedded.
    fn is_remote(&self) -> bool {
        false
    }

    /// One vector for each text, in the order of the texts.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// The vector of a question that somebody waits for: an error comes sooner than from [`Embedder::embed`].
    fn embed_query(&self, query: &str) -> Result<Vec<f32>, EmbedError> {
        let vectors = self.embed(&[query])?;
        Ok(vectors.into_iter().next().expect("one text has one vector"))
    }
}

/// The identity of a model, to be kept with every vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// A name for people.
    pub id: String,
    /// The length of the vectors, where it is known before the first one.
    pub dims: Option<usize>,
    /// Changes whenever the vectors may: lower-case hex of a SHA-256.
    pub hash: String,
}
