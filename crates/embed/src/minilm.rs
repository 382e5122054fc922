//! The embedded model, all-MiniLM-L6-v2: 384 dimensions, no network, no files.
//!
//! `tensors.rs` finds the weights in their file, `network.rs` is the network, `linear.rs`, `attention.rs` and
//! `activation.rs` are its parts.

mod activation;
mod attention;
mod linear;
mod network;
mod tensors;

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use self::network::{DIMS, Network};
use crate::wordpiece::WordPiece;
use crate::{EmbedError, Embedder, Model};

static WEIGHTS: &[u8] = include_bytes!("../../../models/all-MiniLM-L6-v2/model.onnx");
pub(crate) static VOCABULARY: &str = include_str!("../../../models/all-MiniLM-L6-v2/vocab.txt");
/// Of the weights.
const SHA256: &str = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6";

/// The model was trained on at most so many tokens; what follows is not seen.
const LONGEST_TEXT: usize = 256;

/// Texts are computed together until they have so many tokens: enough to use each weight often while it is in the
/// processor's cache, few enough that the activations stay there too.
const BATCH_TOKENS: usize = 128;

/// all-MiniLM-L6-v2. Making one costs nothing: the weights are unpacked when the first text comes.
pub struct MiniLm {
    model: Model,
    threads: NonZeroUsize,
    loaded: OnceLock<Option<Loaded>>,
}

struct Loaded {
    words: WordPiece,
    network: Network,
}

impl MiniLm {
    /// `threads` is how many cores one call may use.
    pub fn new(threads: NonZeroUsize) -> Self {
        let id = "all-MiniLM-L6-v2".to_owned();
        let model = Model { id, dims: Some(DIMS), hash: SHA256.to_owned() };
        Self { model, threads, loaded: OnceLock::new() }
    }

    fn loaded(&self) -> Result<&Loaded, EmbedError> {
        let load =
            || Some(Loaded { words: WordPiece::new(VOCABULARY), network: Network::read(WEIGHTS)? });
        let wrong = || EmbedError::Model("its weights are not those of its network".to_owned());
        self.loaded.get_or_init(load).as_ref().ok_or_else(wrong)
    }
}

impl Embedder for MiniLm {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let loaded = self.loaded()?;
        let tokens: Vec<Vec<u32>> =
            texts.iter().map(|text| loaded.words.encode(text, LONGEST_TEXT)).collect();
        let tokens: Vec<&[u32]> = tokens.iter().map(Vec::as_slice).collect();
        let batches = batches(&tokens);
        let next = AtomicUsize::new(0);
        let done: Vec<OnceLock<Vec<Vec<f32>>>> = vec![OnceLock::new(); batches.len()];
        let share = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(batch) = batches.get(place) else { break };
                done[place].get_or_init(|| loaded.network.run(batch));
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.threads.get().min(batches.len()) {
                // A machine that gives no thread leaves the work to this one.
                let _ =
                    thread::Builder::new().name("vouch-embed".into()).spawn_scoped(scope, share);
            }
            share();
        });
        Ok(done.into_iter().filter_map(OnceLock::into_inner).flatten().collect())
    }
}

/// Neighbours that are computed together.
fn batches<'a, 'b>(mut texts: &'a [&'b [u32]]) -> Vec<&'a [&'b [u32]]> {
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

    /// Vectors are kept by this hash; other weights under it would be mixed up with them.
    #[test]
    fn the_hash_is_that_of_the_weights() {
        let hash: String =
            Sha256::digest(WEIGHTS).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, SHA256);
    }
}
