//! The network of all-MiniLM-L6-v2: a BERT of six layers, written out.
//!
//! A general runtime would turn the weights into floating point and pad every text of a batch to the longest. Written
//! out, the weights keep their eight bits, texts of any lengths stand side by side, and one text needs no more memory
//! than its tokens.

use super::activation::{Gelu, Normalise};
use super::attention::{Attention, Space, WIDTH};
use super::linear::{Linear, Matrix, Rows};
use super::tensors::{self, Tensor};
use crate::simd::dispatch;

pub(super) const DIMS: usize = WIDTH;
const LAYERS: usize = 6;
/// Between the two linear layers that end each layer.
const INNER: usize = 4 * DIMS;

pub(super) struct Network {
    /// A vector for each token of the vocabulary.
    words: Table,
    /// A vector for each place in a text, with that of the only kind of sentence added.
    places: Vec<f32>,
    embedded: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    /// Query, key and value.
    ask: Linear,
    take: Linear,
    taken: Norm,
    widen: Linear,
    narrow: Linear,
    narrowed: Norm,
}

struct Norm {
    gain: Vec<f32>,
    bias: Vec<f32>,
}

/// Vectors of eight bits, in place, with a scale for each.
struct Table {
    values: &'static [u8],
    scales: Vec<f32>,
}

impl Network {
    /// None if the file is not that of this network.
    pub(super) fn read(file: &'static [u8]) -> Option<Self> {
        let tensors = Tensors(tensors::read(file)?);
        let mut quantised = tensors.quantised();
        let words = quantised.next()?;
        let places = quantised.next()?;
        let kind = tensors.floats("embeddings.token_type_embeddings.weight")?;
        let mut places =
            (0..places.scales.len()).flat_map(|place| places.row(place)).collect::<Vec<f32>>();
        for place in places.chunks_exact_mut(DIMS) {
            add(place, kind.get(..DIMS)?);
        }
        let layers = (0..LAYERS).map(|layer| Layer::read(layer, &tensors, &mut quantised));
        Some(Self {
            words,
            places,
            embedded: tensors.norm("embeddings")?,
            layers: layers.collect::<Option<_>>()?,
        })
    }

    /// The vectors of texts, given as tokens.
    pub(super) fn run(&self, texts: &[&[u32]]) -> Vec<Vec<f32>> {
        let mut rows = Rows::default();
        let (mut asked, mut wide) = (Vec::new(), Vec::new());
        let mut narrow = Vec::new();
        let mut space = Space::default();
        let mut hidden = self.embed(texts);
        for layer in &self.layers {
            rows.set(&hidden, DIMS);
            layer.ask.apply(&rows, &mut asked);
            narrow.clear();
            narrow.resize(hidden.len(), 0.0);
            let mut first = 0;
            for text in texts {
                let last = first + text.len();
                let tokens = &asked[first * 3 * DIMS..last * 3 * DIMS];
                let mixed = &mut narrow[first * DIMS..last * DIMS];
                dispatch(Attention { tokens, mixed, space: &mut space });
                first = last;
            }
            rows.set(&narrow, DIMS);
            layer.take.apply(&rows, &mut narrow);
            layer.taken.apply(&mut hidden, &narrow);

            rows.set(&hidden, DIMS);
            layer.widen.apply(&rows, &mut wide);
            dispatch(Gelu(&mut wide));
            rows.set(&wide, INNER);
            layer.narrow.apply(&rows, &mut narrow);
            layer.narrowed.apply(&mut hidden, &narrow);
        }
        let mut rest = &hidden[..];
        texts
            .iter()
            .map(|text| {
                let (tokens, later) = rest.split_at(text.len() * DIMS);
                rest = later;
                mean(tokens)
            })
            .collect()
    }

    fn embed(&self, texts: &[&[u32]]) -> Vec<f32> {
        let mut hidden = Vec::new();
        let mut places = Vec::new();
        for text in texts {
            hidden.extend(text.iter().flat_map(|token| self.words.row(*token as usize)));
            places.extend_from_slice(&self.places[..text.len() * DIMS]);
        }
        self.embedded.apply(&mut hidden, &places);
        hidden
    }
}

impl Layer {
    fn read(
        layer: usize,
        tensors: &Tensors<'static>,
        quantised: &mut impl Iterator<Item = Table>,
    ) -> Option<Self> {
        let mut linear = |inputs, names: &[&str], factors: &[f32]| {
            let parts: Vec<(Table, Vec<f32>)> = names
                .iter()
                .map(|name| {
                    let bias = tensors.floats(&format!("layer.{layer}.{name}.bias"))?;
                    Some((quantised.next()?, bias))
                })
                .collect::<Option<_>>()?;
            let weights: Vec<Vec<i8>> = parts
                .iter()
                .map(|(table, _)| table.values.iter().map(|value| value.cast_signed()).collect())
                .collect();
            let matrices: Vec<Matrix<'_>> = parts
                .iter()
                .zip(&weights)
                .zip(factors)
                .map(|(((table, bias), weights), factor)| Matrix {
                    weights,
                    scales: &table.scales,
                    bias,
                    factor: *factor,
                })
                .collect();
            Some(Linear::new(inputs, &matrices))
        };
        // Queries are divided by the root of a head's dimensions here, so that no score need be.
        let by_root = 1.0 / 32f32.sqrt();
        let names = ["attention.self.query", "attention.self.key", "attention.self.value"];
        Some(Self {
            ask: linear(DIMS, &names, &[by_root, 1.0, 1.0])?,
            take: linear(DIMS, &["attention.output.dense"], &[1.0])?,
            taken: tensors.norm(&format!("layer.{layer}.attention.output"))?,
            widen: linear(DIMS, &["intermediate.dense"], &[1.0])?,
            narrow: linear(INNER, &["output.dense"], &[1.0])?,
            narrowed: tensors.norm(&format!("layer.{layer}.output"))?,
        })
    }
}

impl Norm {
    /// Adds `more` and normalises.
    fn apply(&self, rows: &mut [f32], more: &[f32]) {
        dispatch(Normalise { rows, more, gain: &self.gain, bias: &self.bias });
    }
}

impl Table {
    fn row(&self, index: usize) -> impl Iterator<Item = f32> {
        let scale = self.scales[index];
        let row = &self.values[index * DIMS..(index + 1) * DIMS];
        row.iter().map(move |value| f32::from(value.cast_signed()) * scale)
    }
}

/// The tensors of the file, found by the ends of their names.
struct Tensors<'a>(Vec<Tensor<'a>>);

impl<'a> Tensors<'a> {
    fn floats(&self, name: &str) -> Option<Vec<f32>> {
        Some(self.0.iter().find(|tensor| tensor.name.ends_with(name))?.floats())
    }

    fn norm(&self, name: &str) -> Option<Norm> {
        let gain = self.floats(&format!("{name}.LayerNorm.weight"))?;
        let bias = self.floats(&format!("{name}.LayerNorm.bias"))?;
        (gain.len() == DIMS && bias.len() == DIMS).then_some(Norm { gain, bias })
    }
}

impl Tensors<'static> {
    /// Those of eight bits, each followed in the file by its scales: words, places, then each layer's in its order.
    fn quantised(&self) -> impl Iterator<Item = Table> + use<> {
        let pairs: Vec<Table> = self
            .0
            .windows(2)
            .filter(|pair| pair[0].name.ends_with("_q") && pair[1].name.ends_with("_scale"))
            .map(|pair| Table { values: pair[0].bytes(), scales: pair[1].floats() })
            .collect();
        pairs.into_iter()
    }
}

fn add(row: &mut [f32], more: &[f32]) {
    for (value, more) in row.iter_mut().zip(more) {
        *value += more;
    }
}

/// The mean of all tokens, at length one.
fn mean(tokens: &[f32]) -> Vec<f32> {
    let mut sum = vec![0.0; DIMS];
    for token in tokens.chunks_exact(DIMS) {
        add(&mut sum, token);
    }
    let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    sum.iter().map(|value| value / length).collect()
}
