//! Texts that the embedder rejects, such as one that is too long for an endpoint. A rejected text is not sent again,
//! and does not block the others. Its document is found by lexical search only.

use std::collections::HashSet;

use embed::{EmbedError, Embedder};
use parking_lot::Mutex;
use rank::vectors::VectorIndex;

use super::MissingVector;
use crate::index::cache::ContentKey;

/// A text that any embedder accepts, to distinguish a rejected text from an embedder that rejects everything.
const PROBE_TEXT: &str = "text";

/// Keys of the rejected texts.
#[derive(Default)]
pub(super) struct RejectedTexts {
    keys: Mutex<HashSet<ContentKey>>,
}

impl RejectedTexts {
    pub(super) fn contains(&self, key: &ContentKey) -> bool {
        self.keys.lock().contains(key)
    }

    pub(super) fn len(&self) -> usize {
        self.keys.lock().len()
    }

    /// Returns the vector rows of all texts that are not rejected. Fails if the error is not about a single text.
    pub(super) fn embed_accepted<'a>(
        &self,
        embedder: &dyn Embedder,
        texts: &[(&'a MissingVector, String)],
    ) -> Result<Vec<(&'a MissingVector, Vec<u8>)>, EmbedError> {
        let inputs: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
        let vectors = match embedder.embed(&inputs) {
            Ok(vectors) => vectors,
            Err(error) if is_text_error(&error) && embedder.embed(&[PROBE_TEXT]).is_ok() => {
                return self.embed_one_by_one(embedder, texts);
            }
            Err(error) => return Err(error),
        };
        Ok(texts
            .iter()
            .zip(&vectors)
            .map(|((missing, _), vector)| (*missing, VectorIndex::encode_vector(vector)))
            .collect())
    }

    fn embed_one_by_one<'a>(
        &self,
        embedder: &dyn Embedder,
        texts: &[(&'a MissingVector, String)],
    ) -> Result<Vec<(&'a MissingVector, Vec<u8>)>, EmbedError> {
        let mut rows = Vec::new();
        for (missing, text) in texts {
            match embedder.embed(&[text]) {
                Ok(vectors) => rows
                    .extend(vectors.iter().map(|one| (*missing, VectorIndex::encode_vector(one)))),
                Err(error) if is_text_error(&error) => {
                    let error = error.to_string();
                    tracing::warn!(
                        error,
                        "text rejected by embedder; its document is found by lexical search only"
                    );
                    self.keys.lock().insert(missing.key);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(rows)
    }
}

/// Returns true if the error is about the text, so that another text might be accepted.
fn is_text_error(error: &EmbedError) -> bool {
    matches!(
        error,
        EmbedError::Rejected { status: 400 | 413 | 422, .. } | EmbedError::InvalidResponse(_)
    )
}
