//! Text embeddings: a bundled model, and any OpenAI-compatible endpoint.
//!
//! Start with [`Embedder`]. [`MiniLm`] runs the bundled model in this process, and [`EndpointEmbedder`] calls a server.
//! [`text`] prepares the text of a code chunk for embedding.
//!
//! All calls block. This crate reads no environment variables, writes no files and stores no vectors. Callers decide
//! which texts to embed and when.

mod endpoint;
mod error;
mod minilm;
mod simd;
pub mod text;
mod wordpiece;

pub use endpoint::{EndpointEmbedder, EndpointOptions};
pub use error::EmbedError;
pub use minilm::MiniLm;

/// Embeds texts as vectors of length one, so the dot product of two vectors is their cosine similarity.
pub trait Embedder: Send + Sync {
    /// Returns the model that computes the vectors. Vectors of different models must not be compared.
    fn model(&self) -> &EmbeddingModel;

    /// Returns `true` if texts are sent to another machine.
    fn is_remote(&self) -> bool {
        false
    }

    /// Returns one vector per text, in the order of the texts.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// Returns the vector of an interactive query. It fails sooner than [`Embedder::embed`].
    fn embed_query(&self, query: &str) -> Result<Vec<f32>, EmbedError> {
        let vectors = self.embed(&[query])?;
        Ok(vectors.into_iter().next().expect("one text has one vector"))
    }
}

/// The identity of a model, stored with every vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// Display name.
    pub id: String,
    /// Number of dimensions, if known before the first vector.
    pub dims: Option<usize>,
    /// Lower-case hex SHA-256 that changes whenever the vectors may change.
    pub hash: String,
}
