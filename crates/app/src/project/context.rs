//! Creates the context pack and its embedder from the settings.

use std::sync::Arc;

use embed::{Embedder, EndpointEmbedder, EndpointOptions, MiniLm};
use pack_context::{ContextOptions, ContextPack};
use store::StateDir;

use crate::config::{EmbeddingSettings, Settings};
use crate::failure::{FailureExt, Result};

/// Opens the context pack. Reads, writes and starts nothing yet.
pub fn open_context_pack(
    settings: &Settings,
    embedder: Option<Arc<dyn Embedder>>,
) -> Result<ContextPack> {
    let options = context_options(settings, embedder);
    let state = StateDir::from_path(&settings.state_folder);
    ContextPack::open(&settings.root, &state, options)
        .hint("correct it in vouch.toml, then run `vouch doctor`")
}

/// Returns the options of the context pack.
pub fn context_options(settings: &Settings, embedder: Option<Arc<dyn Embedder>>) -> ContextOptions {
    ContextOptions {
        deny: settings.deny_list(),
        memory_folder: settings.memory_folder.clone(),
        exclude: settings.context.exclude.clone(),
        watch: settings.context.watch,
        threads: settings.context.threads,
        embedder,
        ..ContextOptions::default()
    }
}

/// Creates the configured embedder; returns `None` if embeddings are off.
///
/// The embedded model is loaded, or the endpoint called, with the first text.
pub fn create_embedder(settings: &Settings) -> Result<Option<Arc<dyn Embedder>>> {
    Ok(match &settings.context.embeddings {
        EmbeddingSettings::Off => None,
        EmbeddingSettings::Embedded => Some(Arc::new(MiniLm::new(settings.context.threads))),
        EmbeddingSettings::Endpoint(endpoint) => {
            runtime::client::install_tls();
            let options = EndpointOptions {
                base_url: endpoint.base_url.clone(),
                model: endpoint.model.clone(),
                dimensions: endpoint.dimensions,
                api_key: endpoint.api_key.clone(),
                timeout: endpoint.timeout,
            };
            Some(Arc::new(EndpointEmbedder::new(options)?))
        }
    })
}
