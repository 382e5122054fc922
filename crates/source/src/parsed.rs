//! What texts said, remembered by their content: the same text says the same wherever and whenever it is read.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::language::Language;
use crate::outline::{self, Outline};
use crate::resolve::Manifest;

/// Texts that are remembered; the imports of one take a few kilobytes.
const TEXTS: NonZeroUsize = NonZeroUsize::new(2048).expect("it is not zero");

type Remembered<K, V> = Mutex<LruCache<K, V>>;
type Hash = [u8; 32];

/// A bounded memory of parsed texts, for as many resolvers and threads as like to share it.
pub struct Parsed {
    imports: Remembered<(Language, Hash), Arc<Outline>>,
    manifests: Remembered<Hash, Option<Arc<Manifest>>>,
}

impl Default for Parsed {
    fn default() -> Self {
        Self {
            imports: Mutex::new(LruCache::new(TEXTS)),
            manifests: Mutex::new(LruCache::new(TEXTS)),
        }
    }
}

impl Parsed {
    /// What [`outline::imports`] finds in `text`.
    pub fn imports(&self, language: Language, text: &str) -> Arc<Outline> {
        let key = (language, hash(text));
        recall(&self.imports, key, || Arc::new(outline::imports(language, text)))
    }

    /// A `Cargo.toml`; None if it cannot be read as one.
    pub(crate) fn manifest(&self, text: &str) -> Option<Arc<Manifest>> {
        recall(&self.manifests, hash(text), || toml::from_str(text).ok().map(Arc::new))
    }
}

/// Nothing waits while a text is parsed; two threads may parse the same one at once.
fn recall<K: std::hash::Hash + Eq, V: Clone>(
    memory: &Remembered<K, V>,
    key: K,
    parse: impl FnOnce() -> V,
) -> V {
    if let Some(known) = memory.lock().get(&key) {
        return known.clone();
    }
    let found = parse();
    memory.lock().put(key, found.clone());
    found
}

fn hash(text: &str) -> Hash {
    Sha256::digest(text).into()
}
