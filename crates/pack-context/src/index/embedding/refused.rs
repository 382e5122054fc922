//! Texts that the embedder does not take, such as one that is too long for an endpoint. One of them must not keep the
//! others from their vectors: its document is found by its words, and the text is not sent again.

use std::collections::HashSet;

use embed::{EmbedError, Embedder};
use parking_lot::Mutex;
use rank::vectors::Vectors;

use super::Missing;
use crate::index::cache::Key;

/// A text that any embedder takes, to tell a refused text from an embedder that refuses everything.
const HARMLESS: &str = "text";

#[derive(Default)]
pub(super) struct Refused {
    keys: Mutex<HashSet<Key>>,
}

impl Refused {
    pub(super) fn contains(&self, key: &Key) -> bool {
        self.keys.lock().contains(key)
    }

    pub(super) fn len(&self) -> usize {
        self.keys.lock().len()
    }

    /// The vectors of all texts that are not refused.
    pub(super) fn embed<'a>(
        &self,
        embedder: &dyn Embedder,
        texts: &[(&'a Missing, String)],
    ) -> Result<Vec<(&'a Missing, Vec<u8>)>, EmbedError> {
        let inputs: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
        let vectors = match embedder.embed(&inputs) {
            Ok(vectors) => vectors,
            Err(error) if is_about_the_text(&error) && embedder.embed(&[HARMLESS]).is_ok() => {
                return self.one_by_one(embedder, texts);
            }
            Err(error) => return Err(error),
        };
        Ok(texts
            .iter()
            .zip(&vectors)
            .map(|((of, _), vector)| (*of, Vectors::row(vector)))
            .collect())
    }

    fn one_by_one<'a>(
        &self,
        embedder: &dyn Embedder,
        texts: &[(&'a Missing, String)],
    ) -> Result<Vec<(&'a Missing, Vec<u8>)>, EmbedError> {
        let mut rows = Vec::new();
        for (missing, text) in texts {
            match embedder.embed(&[text]) {
                Ok(vectors) => rows.extend(vectors.iter().map(|one| (*missing, Vectors::row(one)))),
                Err(error) if is_about_the_text(&error) => {
                    let error = error.to_string();
                    tracing::warn!(error, "one text is not embedded: it is found by its words");
                    self.keys.lock().insert(missing.key);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(rows)
    }
}

/// Whether another text might fare better.
fn is_about_the_text(error: &EmbedError) -> bool {
    matches!(error, EmbedError::Refused { status: 400 | 413 | 422, .. } | EmbedError::Garbage(_))
}
