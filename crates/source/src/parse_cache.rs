//! Cache of parse results, keyed by the hash of the text.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::language::Language;
use crate::outline::{self, Outline};
use crate::resolve::CargoManifest;

/// Maximum number of cached texts. The imports of one text take a few kilobytes.
const MAX_CACHED_TEXTS: NonZeroUsize = NonZeroUsize::new(2048).expect("2048 is not zero");

type SharedLru<K, V> = Mutex<LruCache<K, V>>;
type TextHash = [u8; 32];

/// A bounded cache of parsed texts that resolvers and threads can share.
pub struct ParseCache {
    imports: SharedLru<(Language, TextHash), Arc<Outline>>,
    manifests: SharedLru<TextHash, Option<Arc<CargoManifest>>>,
}

impl Default for ParseCache {
    fn default() -> Self {
        Self {
            imports: Mutex::new(LruCache::new(MAX_CACHED_TEXTS)),
            manifests: Mutex::new(LruCache::new(MAX_CACHED_TEXTS)),
        }
    }
}

impl ParseCache {
    /// Returns the result of [`outline::extract_imports`] for `text`.
    pub fn extract_imports(&self, language: Language, text: &str) -> Arc<Outline> {
        let key = (language, hash_text(text));
        get_or_compute(&self.imports, key, || Arc::new(outline::extract_imports(language, text)))
    }

    /// Parses a `Cargo.toml`; returns `None` if it is invalid.
    pub(crate) fn parse_manifest(&self, text: &str) -> Option<Arc<CargoManifest>> {
        get_or_compute(&self.manifests, hash_text(text), || toml::from_str(text).ok().map(Arc::new))
    }
}

/// Returns the cached value of a key, computing and storing it if absent.
///
/// The lock is not held while parsing, so two threads may parse the same text at once.
fn get_or_compute<K: std::hash::Hash + Eq, V: Clone>(
    cache: &SharedLru<K, V>,
    key: K,
    parse: impl FnOnce() -> V,
) -> V {
    let lock = || cache.lock();
    if let Some(cached) = lock().get(&key) {
        return cached.clone();
    }
    let value = parse();
    lock().put(key, value.clone());
    value
}

fn hash_text(text: &str) -> TextHash {
    Sha256::digest(text).into()
}
