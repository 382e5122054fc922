//! Fills the index of a project with fake vectors under the name of the embedded model.
//!
//! Only for `cargo xtask bench context`. The cost of a warm search depends on the number of vectors, not on their values,
//! and computing a hundred thousand real vectors takes an hour.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use embed::{EmbedError, Embedder, EmbeddingModel, MiniLm};
use pack_context::{ContextOptions, ContextPack};
use store::{ProjectIdentity, StateDir};

/// Returns cheap vectors that differ by text, under the name of the real model.
struct FakeEmbedder {
    real: MiniLm,
}

impl Embedder for FakeEmbedder {
    fn model(&self) -> &EmbeddingModel {
        self.real.model()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let dims = self.model().dims.unwrap_or(384);
        Ok(texts.iter().map(|text| fake_vector(text, dims)).collect())
    }
}

/// Returns a pseudo-random unit vector that depends only on the text.
fn fake_vector(text: &str, dims: usize) -> Vec<f32> {
    // FNV-1a seeds a linear congruential generator; any distribution is good enough.
    let mut state = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u32 << 24) as f32 - 0.5
    };
    let values: Vec<f32> = (0..dims).map(|_| next()).collect();
    let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.into_iter().map(|value| value / length).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let usage = "usage: fill_index PROJECT STATE_HOME";
    let [root, state_home] = [1, 2].map(|at| std::env::args_os().nth(at).map(PathBuf::from));
    let root = root.ok_or(usage)?.canonicalize()?;
    let project = ProjectIdentity::read(&root)?;
    let state_home = state_home.ok_or(usage)?.join("vouch");
    let state = StateDir::open_for_project(state_home.join(project.directory_name()), &project)?;
    let embedder: Arc<dyn Embedder> =
        Arc::new(FakeEmbedder { real: MiniLm::new(NonZeroUsize::MIN) });
    let options = ContextOptions { embedder: Some(embedder), ..ContextOptions::default() };
    let pack = ContextPack::open(&root, &state, options)?;
    match pack.index().run_to_completion(&|_| (), &|| false) {
        true => Ok(()),
        false => Err("failed to complete the index".into()),
    }
}
