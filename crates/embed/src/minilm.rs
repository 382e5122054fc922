//! The bundled model, all-MiniLM-L6-v2, with 384 dimensions. It needs no network access and no files.
//!
//! `tensors.rs` reads the weights, `network.rs` is the neural network, and `linear.rs`, `attention.rs` and
//! `activation.rs` implement its layers.

mod activation;
mod attention;
mod linear;
mod network;
mod tensors;

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use self::network::{BertNetwork, DIMS};
use crate::wordpiece::WordPiece;
use crate::{EmbedError, Embedder, EmbeddingModel};

static WEIGHTS: &[u8] = include_bytes!("../../../models/all-MiniLM-L6-v2/model.onnx");
pub(crate) static VOCABULARY: &str = include_str!("../../../models/all-MiniLM-L6-v2/vocab.txt");
/// Hash of the weights.
const SHA256: &str = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6";

/// Maximum number of tokens per text, as in training. The rest of the text is ignored.
const MAX_TEXT_TOKENS: usize = 256;

/// Maximum number of tokens per batch: enough to reuse each weight while it is in the processor's cache, few enough to
/// keep the activations there too.
const BATCH_TOKENS: usize = 128;

/// An [`Embedder`] that runs all-MiniLM-L6-v2. Creation is cheap; the weights are unpacked with the first text.
pub struct MiniLm {
    model: EmbeddingModel,
    threads: NonZeroUsize,
    loaded: OnceLock<Option<LoadedModel>>,
}

struct LoadedModel {
    tokenizer: WordPiece,
    network: BertNetwork,
}

impl MiniLm {
    /// Creates an embedder that uses up to `threads` threads per call.
    pub fn new(threads: NonZeroUsize) -> Self {
        let id = "all-MiniLM-L6-v2".to_owned();
        let model = EmbeddingModel { id, dims: Some(DIMS), hash: SHA256.to_owned() };
        Self { model, threads, loaded: OnceLock::new() }
    }

    /// Returns the model, loading it on first use.
    fn load_model(&self) -> Result<&LoadedModel, EmbedError> {
        let load = || {
            let tokenizer = WordPiece::new(VOCABULARY);
            Some(LoadedModel { tokenizer, network: BertNetwork::from_onnx(WEIGHTS)? })
        };
        let mismatch = || EmbedError::Model("weights do not match the network".to_owned());
        self.loaded.get_or_init(load).as_ref().ok_or_else(mismatch)
    }
}

impl Embedder for MiniLm {
    fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let loaded = self.load_model()?;
        let tokens: Vec<Vec<u32>> =
            texts.iter().map(|text| loaded.tokenizer.encode(text, MAX_TEXT_TOKENS)).collect();
        let tokens: Vec<&[u32]> = tokens.iter().map(Vec::as_slice).collect();
        let batches = split_batches(&tokens);
        let next = AtomicUsize::new(0);
        let done: Vec<OnceLock<Vec<Vec<f32>>>> = vec![OnceLock::new(); batches.len()];
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(batch) = batches.get(index) else { break };
                done[index].get_or_init(|| loaded.network.run(batch));
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.threads.get().min(batches.len()) {
                // If a thread cannot be spawned, the current thread does its work.
                let _ = thread::Builder::new().name("vouch-embed".into()).spawn_scoped(scope, work);
            }
            work();
        });
        Ok(done.into_iter().filter_map(OnceLock::into_inner).flatten().collect())
    }
}

/// Splits texts into batches of at most [`BATCH_TOKENS`] tokens; a longer text is a batch by itself.
fn split_batches<'a, 'b>(mut texts: &'a [&'b [u32]]) -> Vec<&'a [&'b [u32]]> {
    let mut batches = Vec::new();
    while !texts.is_empty() {
        let mut tokens = 0;
        let small = |text: &&&[u32]| {
            tokens += text.len();
            tokens <= BATCH_TOKENS
        };
        let size = texts.iter().take_while(small).count().max(1);
        let (batch, rest) = texts.split_at(size);
        batches.push(batch);
        texts = rest;
    }
    batches
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    /// Stored vectors are keyed by this hash, so it must change with the weights.
    #[test]
    fn hash_matches_weights() {
        let hash: String =
            Sha256::digest(WEIGHTS).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, SHA256);
    }
}
