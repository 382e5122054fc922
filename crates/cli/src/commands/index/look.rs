//! The index of this moment, seen without making anything for it: files are listed and compared with what the cache knows
//! of them, and the vectors that any process has made are counted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use embed::{EmbedError, Embedder, Model};
use pack_context::Status;

use crate::config::Settings;
use crate::project::context;
use crate::report::Result;

/// As far as it can be seen in a while.
pub(in crate::commands) fn status(settings: &Settings, patience: Duration) -> Result<Status> {
    let embedder = context::embedder(settings)?;
    let onlooker = embedder.map(|embedder| Arc::new(Onlooker(embedder)) as Arc<dyn Embedder>);
    let pack = context::pack(settings, onlooker)?;
    let began = Instant::now();
    pack.index().complete(&|_| {}, &|| began.elapsed() > patience);
    // The onlooker's own refusal is no trouble.
    Ok(Status { embedding_error: None, ..pack.index().status() })
}

/// Stands for a model so that its vectors are found in the cache, and makes none.
struct Onlooker(Arc<dyn Embedder>);

impl Embedder for Onlooker {
    fn model(&self) -> &Model {
        self.0.model()
    }

    fn embed(&self, _texts: &[&str]) -> std::result::Result<Vec<Vec<f32>>, EmbedError> {
        Err(EmbedError::Model("nothing is embedded while one only looks".to_owned()))
    }
}
