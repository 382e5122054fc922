//! The context pack from its settings: what it may read, and what makes its vectors.

use std::sync::Arc;

use embed::{Embedder, Endpoint, EndpointOptions, MiniLm};
use pack_context::{ContextOptions, ContextPack};
use store::StateDir;

use super::deny;
use crate::config::{Embeddings, Settings};
use crate::failure::{Explain, Result};

/// Nothing is read, written or started yet.
pub fn pack(settings: &Settings, embedder: Option<Arc<dyn Embedder>>) -> Result<ContextPack> {
    let options = options(settings, embedder);
    let state = StateDir::at(&settings.state_folder);
    ContextPack::open(&settings.root, &state, options)
        .hint("correct it in vouch.toml, then check: vouch doctor")
}

/// Returns the options of the context pack.
pub fn options(settings: &Settings, embedder: Option<Arc<dyn Embedder>>) -> ContextOptions {
    ContextOptions {
        deny: deny(settings),
        memory_folder: settings.memory_folder.clone(),
        exclude: settings.context.exclude.clone(),
        watch: settings.context.watch,
        threads: settings.context.threads,
        embedder,
        ..ContextOptions::default()
    }
}

/// What makes vectors here; the embedded model is loaded, and the endpoint asked, with the first text.
pub fn embedder(settings: &Settings) -> Result<Option<Arc<dyn Embedder>>> {
    Ok(match &settings.context.embeddings {
        Embeddings::Off => None,
        Embeddings::Embedded => Some(Arc::new(MiniLm::new(settings.context.threads))),
        Embeddings::Endpoint(endpoint) => {
            runtime::client::install_tls();
            let options = EndpointOptions {
                base_url: endpoint.base_url.clone(),
                model: endpoint.model.clone(),
                dimensions: endpoint.dimensions,
                api_key: endpoint.api_key.clone(),
                timeout: endpoint.timeout,
            };
            Some(Arc::new(Endpoint::new(options)?))
        }
    })
}
