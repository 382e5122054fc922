//! The embedded model, all-MiniLM-L6-v2: 384 dimensions, no network, no files.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use rten::{ModelOptions, NodeId, RunOptions, ThreadPool};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};

use crate::wordpiece::WordPiece;
use crate::{EmbedError, Embedder, Model};

static WEIGHTS: &[u8] = include_bytes!("../../../models/all-MiniLM-L6-v2/model.onnx");
pub(crate) static VOCABULARY: &str = include_str!("../../../models/all-MiniLM-L6-v2/vocab.txt");

const DIMS: usize = 384;

/// The model was trained on at most so many tokens; what follows is not seen.
const LONGEST_TEXT: usize = 256;

/// Tokens that are computed at once, with padding. It bounds the memory; more would not be quicker.
const BATCH_TOKENS: usize = 1024;

/// all-MiniLM-L6-v2. Making one costs nothing: the weights are loaded when the first text comes.
pub struct MiniLm {
    model: Model,
    pool: Arc<ThreadPool>,
    loaded: OnceLock<Result<Loaded, String>>,
}

impl MiniLm {
    /// `threads` is how many cores one call may use.
    pub fn new(threads: NonZeroUsize) -> Self {
        let hash = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6".to_owned();
        Self {
            model: Model { id: "all-MiniLM-L6-v2".to_owned(), dims: Some(DIMS), hash },
            pool: Arc::new(ThreadPool::with_num_threads(threads.get())),
            loaded: OnceLock::new(),
        }
    }
}

impl Embedder for MiniLm {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let loaded = self.loaded.get_or_init(Loaded::new);
        let loaded = loaded.as_ref().map_err(|error| EmbedError::Model(error.clone()))?;
        let mut tokens: Vec<(usize, Vec<u32>)> =
            texts.iter().map(|text| loaded.words.encode(text, LONGEST_TEXT)).enumerate().collect();
        // Texts of one length need no padding beside each other.
        tokens.sort_by_key(|(_, tokens)| tokens.len());
        let mut vectors = vec![Vec::new(); texts.len()];
        let mut rest = &tokens[..];
        while !rest.is_empty() {
            let fits = |n: &usize| rest[*n - 1].1.len() * n <= BATCH_TOKENS;
            let size = (1..=rest.len()).take_while(fits).last().unwrap_or(1);
            let (batch, later) = rest.split_at(size);
            let run = loaded.run(batch, &self.pool).map_err(EmbedError::Model)?;
            for ((index, _), vector) in batch.iter().zip(run) {
                vectors[*index] = vector;
            }
            rest = later;
        }
        Ok(vectors)
    }
}

struct Loaded {
    words: WordPiece,
    graph: rten::Model,
    inputs: [NodeId; 3],
    output: NodeId,
}

impl Loaded {
    fn new() -> Result<Self, String> {
        let mut options = ModelOptions::with_all_ops();
        let graph = options
            .prepack_weights(true)
            .load_static_slice(WEIGHTS)
            .map_err(|error| error.to_string())?;
        let node = |name| graph.node_id(name).map_err(|error| error.to_string());
        let inputs = [node("input_ids")?, node("attention_mask")?, node("token_type_ids")?];
        let output = node("last_hidden_state")?;
        Ok(Self { words: WordPiece::new(VOCABULARY), graph, inputs, output })
    }

    fn run(
        &self,
        batch: &[(usize, Vec<u32>)],
        pool: &Arc<ThreadPool>,
    ) -> Result<Vec<Vec<f32>>, String> {
        let longest = batch.iter().map(|(_, tokens)| tokens.len()).max().unwrap_or(0);
        let shape = [batch.len(), longest];
        let mut ids = NdTensor::<i32, 2>::zeros(shape);
        let mut mask = NdTensor::<i32, 2>::zeros(shape);
        for (row, (_, tokens)) in batch.iter().enumerate() {
            for (column, token) in tokens.iter().enumerate() {
                ids[[row, column]] = token.cast_signed();
                mask[[row, column]] = 1;
            }
        }
        let types = NdTensor::<i32, 2>::zeros(shape);
        let inputs = vec![
            (self.inputs[0], ids.view().into()),
            (self.inputs[1], mask.view().into()),
            (self.inputs[2], types.view().into()),
        ];
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
        let [hidden] = self
            .graph
            .run_n(inputs, [self.output], Some(options))
            .map_err(|error| error.to_string())?;
        let hidden: NdTensor<f32, 3> =
            hidden.try_into().map_err(|_| "an output of another type")?;
        Ok(batch
            .iter()
            .enumerate()
            .map(|(row, (_, tokens))| pooled(hidden.slice(row), tokens.len()))
            .collect())
    }
}

/// The mean over the tokens of a text, without the padding, at length one.
fn pooled(hidden: NdTensorView<f32, 2>, tokens: usize) -> Vec<f32> {
    let mut sum = vec![0.0; DIMS];
    for token in 0..tokens {
        for (sum, value) in sum.iter_mut().zip(hidden.slice(token).iter()) {
            *sum += value;
        }
    }
    let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    sum.iter().map(|value| value / length).collect()
}
