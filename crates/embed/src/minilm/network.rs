//! The network of all-MiniLM-L6-v2: a BERT encoder with six layers.
//!
//! A general runtime would convert the weights to floating point and pad every text of a batch to the longest. Here the
//! weights stay 8-bit, texts of different lengths share a batch without padding, and memory is proportional to tokens.

use super::activation::{GeluActivation, NormalizeRows};
use super::attention::{AttentionBuffers, SelfAttention, WIDTH};
use super::linear::{LinearLayer, QuantizedMatrix, QuantizedRows};
use super::tensors::{self, OnnxTensor};
use crate::simd::dispatch;

pub(super) const DIMS: usize = WIDTH;
const LAYERS: usize = 6;
/// Width of the intermediate linear layer.
const INNER: usize = 4 * DIMS;

/// A BERT encoder with mean pooling.
pub(super) struct BertNetwork {
    /// One vector per token of the vocabulary.
    word_embeddings: QuantizedTable,
    /// One vector per position in a text, plus the embedding of the only token type.
    position_embeddings: Vec<f32>,
    embedding_norm: LayerNorm,
    layers: Vec<EncoderLayer>,
}

/// The weights of one encoder layer.
struct EncoderLayer {
    query_key_value: LinearLayer,
    attention_output: LinearLayer,
    attention_norm: LayerNorm,
    intermediate: LinearLayer,
    output: LinearLayer,
    output_norm: LayerNorm,
}

struct LayerNorm {
    gain: Vec<f32>,
    bias: Vec<f32>,
}

/// 8-bit vectors inside the model file, with one scale per vector.
struct QuantizedTable {
    values: &'static [u8],
    scales: Vec<f32>,
}

impl BertNetwork {
    /// Parses the model file; returns `None` if it does not match this network.
    pub(super) fn from_onnx(file: &'static [u8]) -> Option<Self> {
        let tensors = TensorSet(tensors::read_tensors(file)?);
        let mut quantized = tensors.quantized_tables();
        let word_embeddings = quantized.next()?;
        let positions = quantized.next()?;
        let token_type = tensors.find_floats("embeddings.token_type_embeddings.weight")?;
        let mut position_embeddings = (0..positions.scales.len())
            .flat_map(|position| positions.dequantize_row(position))
            .collect::<Vec<f32>>();
        for position in position_embeddings.chunks_exact_mut(DIMS) {
            add_row(position, token_type.get(..DIMS)?);
        }
        let layers =
            (0..LAYERS).map(|layer| EncoderLayer::from_tensors(layer, &tensors, &mut quantized));
        Some(Self {
            word_embeddings,
            position_embeddings,
            embedding_norm: tensors.find_norm("embeddings")?,
            layers: layers.collect::<Option<_>>()?,
        })
    }

    /// Returns the vector of each text, given as tokens.
    pub(super) fn run(&self, texts: &[&[u32]]) -> Vec<Vec<f32>> {
        let mut rows = QuantizedRows::default();
        let (mut projected, mut wide) = (Vec::new(), Vec::new());
        let mut narrow = Vec::new();
        let mut space = AttentionBuffers::default();
        let mut hidden = self.embed_tokens(texts);
        for layer in &self.layers {
            rows.quantize_from(&hidden, DIMS);
            layer.query_key_value.apply(&rows, &mut projected);
            narrow.clear();
            narrow.resize(hidden.len(), 0.0);
            let mut first = 0;
            for text in texts {
                let last = first + text.len();
                let tokens = &projected[first * 3 * DIMS..last * 3 * DIMS];
                let mixed = &mut narrow[first * DIMS..last * DIMS];
                dispatch(SelfAttention { tokens, mixed, space: &mut space });
                first = last;
            }
            rows.quantize_from(&narrow, DIMS);
            layer.attention_output.apply(&rows, &mut narrow);
            layer.attention_norm.apply(&mut hidden, &narrow);

            rows.quantize_from(&hidden, DIMS);
            layer.intermediate.apply(&rows, &mut wide);
            dispatch(GeluActivation(&mut wide));
            rows.quantize_from(&wide, INNER);
            layer.output.apply(&rows, &mut narrow);
            layer.output_norm.apply(&mut hidden, &narrow);
        }
        let mut rest = &hidden[..];
        texts
            .iter()
            .map(|text| {
                let (tokens, later) = rest.split_at(text.len() * DIMS);
                rest = later;
                pool_mean(tokens)
            })
            .collect()
    }

    /// Returns the normalized sum of word and position embeddings, one row per token.
    fn embed_tokens(&self, texts: &[&[u32]]) -> Vec<f32> {
        let mut hidden = Vec::new();
        let mut positions = Vec::new();
        for text in texts {
            hidden.extend(
                text.iter().flat_map(|token| self.word_embeddings.dequantize_row(*token as usize)),
            );
            positions.extend_from_slice(&self.position_embeddings[..text.len() * DIMS]);
        }
        self.embedding_norm.apply(&mut hidden, &positions);
        hidden
    }
}

impl EncoderLayer {
    fn from_tensors(
        layer: usize,
        tensors: &TensorSet<'static>,
        quantized: &mut impl Iterator<Item = QuantizedTable>,
    ) -> Option<Self> {
        let mut linear = |inputs, names: &[&str], factors: &[f32]| {
            let parts: Vec<(QuantizedTable, Vec<f32>)> = names
                .iter()
                .map(|name| {
                    let bias = tensors.find_floats(&format!("layer.{layer}.{name}.bias"))?;
                    Some((quantized.next()?, bias))
                })
                .collect::<Option<_>>()?;
            let weights: Vec<Vec<i8>> = parts
                .iter()
                .map(|(table, _)| table.values.iter().map(|value| value.cast_signed()).collect())
                .collect();
            let matrices: Vec<QuantizedMatrix<'_>> = parts
                .iter()
                .zip(&weights)
                .zip(factors)
                .map(|(((table, bias), weights), factor)| QuantizedMatrix {
                    weights,
                    scales: &table.scales,
                    bias,
                    factor: *factor,
                })
                .collect();
            Some(LinearLayer::new(inputs, &matrices))
        };
        // Queries are divided by the square root of the head size here, so that scores need no scaling.
        let by_root = 1.0 / 32f32.sqrt();
        let names = ["attention.self.query", "attention.self.key", "attention.self.value"];
        Some(Self {
            query_key_value: linear(DIMS, &names, &[by_root, 1.0, 1.0])?,
            attention_output: linear(DIMS, &["attention.output.dense"], &[1.0])?,
            attention_norm: tensors.find_norm(&format!("layer.{layer}.attention.output"))?,
            intermediate: linear(DIMS, &["intermediate.dense"], &[1.0])?,
            output: linear(INNER, &["output.dense"], &[1.0])?,
            output_norm: tensors.find_norm(&format!("layer.{layer}.output"))?,
        })
    }
}

impl LayerNorm {
    /// Adds `more` to `rows` and normalizes each row.
    fn apply(&self, rows: &mut [f32], more: &[f32]) {
        dispatch(NormalizeRows { rows, more, gain: &self.gain, bias: &self.bias });
    }
}

impl QuantizedTable {
    fn dequantize_row(&self, index: usize) -> impl Iterator<Item = f32> {
        let scale = self.scales[index];
        let row = &self.values[index * DIMS..(index + 1) * DIMS];
        row.iter().map(move |value| f32::from(value.cast_signed()) * scale)
    }
}

/// The tensors of the model file, looked up by name suffix.
struct TensorSet<'a>(Vec<OnnxTensor<'a>>);

impl<'a> TensorSet<'a> {
    fn find_floats(&self, name: &str) -> Option<Vec<f32>> {
        Some(self.0.iter().find(|tensor| tensor.name.ends_with(name))?.to_floats())
    }

    fn find_norm(&self, name: &str) -> Option<LayerNorm> {
        let gain = self.find_floats(&format!("{name}.LayerNorm.weight"))?;
        let bias = self.find_floats(&format!("{name}.LayerNorm.bias"))?;
        (gain.len() == DIMS && bias.len() == DIMS).then_some(LayerNorm { gain, bias })
    }
}

impl TensorSet<'static> {
    /// Returns the 8-bit tensors, each of which is followed by its scales in the file.
    ///
    /// The order is words, positions, then the matrices of each layer.
    fn quantized_tables(&self) -> impl Iterator<Item = QuantizedTable> + use<> {
        let pairs: Vec<QuantizedTable> = self
            .0
            .windows(2)
            .filter(|pair| pair[0].name.ends_with("_q") && pair[1].name.ends_with("_scale"))
            .map(|pair| QuantizedTable { values: pair[0].raw_bytes(), scales: pair[1].to_floats() })
            .collect();
        pairs.into_iter()
    }
}

fn add_row(row: &mut [f32], more: &[f32]) {
    for (value, more) in row.iter_mut().zip(more) {
        *value += more;
    }
}

/// Returns the mean of all token vectors, normalized to length one.
fn pool_mean(tokens: &[f32]) -> Vec<f32> {
    let mut sum = vec![0.0; DIMS];
    for token in tokens.chunks_exact(DIMS) {
        add_row(&mut sum, token);
    }
    let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    sum.iter().map(|value| value / length).collect()
}
