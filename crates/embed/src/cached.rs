//! Vectors of recent texts, kept.
//!
//! For queries: people and assistants ask the same thing again, and an endpoint takes its time and its fee.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::{EmbedError, Embedder, Model};

/// An [`Embedder`] that asks another one only for texts it has not seen lately.
pub struct Cached<E> {
    inner: E,
    recent: Mutex<LruCache<String, Vec<f32>>>,
}

impl<E: Embedder> Cached<E> {
    /// Keeps the vectors of the last `capacity` texts.
    pub fn new(inner: E, capacity: NonZeroUsize) -> Self {
        Self { inner, recent: Mutex::new(LruCache::new(capacity)) }
    }

    fn recent(&self) -> MutexGuard<'_, LruCache<String, Vec<f32>>> {
        // Every state of the cache is a valid one, also that which a panic left.
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: Embedder> Embedder for Cached<E> {
    fn model(&self) -> &Model {
        self.inner.model()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors: Vec<Option<Vec<f32>>> = {
            let mut recent = self.recent();
            texts.iter().map(|text| recent.get(*text).cloned()).collect()
        };
        let (places, new): (Vec<usize>, Vec<&str>) = texts
            .iter()
            .enumerate()
            .filter(|(place, _)| vectors[*place].is_none())
            .map(|(place, text)| (place, *text))
            .unzip();
        if !new.is_empty() {
            // Not under the lock: one slow question must not hold up the others.
            let made = self.inner.embed(&new)?;
            let mut recent = self.recent();
            for ((place, text), vector) in places.into_iter().zip(new).zip(made) {
                recent.put(text.to_owned(), vector.clone());
                vectors[place] = Some(vector);
            }
        }
        Ok(vectors.into_iter().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Gives the length of a text as its vector, and counts what it was asked.
    struct Counting(Model, AtomicUsize);

    impl Embedder for Counting {
        fn model(&self) -> &Model {
            &self.0
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            self.1.fetch_add(texts.len(), Ordering::Relaxed);
            Ok(texts.iter().map(|text| vec![text.len() as f32]).collect())
        }
    }

    #[test]
    fn only_new_texts_are_asked_for() {
        let model = Model { id: "counting".into(), dims: Some(1), hash: String::new() };
        let cached =
            Cached::new(Counting(model, AtomicUsize::new(0)), NonZeroUsize::new(2).expect("two"));
        let lengths = |texts: &[&str]| cached.embed(texts).map(|vectors| vectors.concat()).ok();
        let asked = || cached.inner.1.load(Ordering::Relaxed);

        assert_eq!(lengths(&["a", "bb"]), Some(vec![1.0, 2.0]));
        assert_eq!(lengths(&["bb", "a", "bb"]), Some(vec![2.0, 1.0, 2.0]));
        assert_eq!(asked(), 2);
        assert_eq!(lengths(&["ccc", "bb"]), Some(vec![3.0, 2.0]));
        assert_eq!(asked(), 3);
        // `a` was the oldest of three.
        assert_eq!(lengths(&["a"]), Some(vec![1.0]));
        assert_eq!(asked(), 4);
    }
}
