//! Who writes a summary. Whatever it writes is checked by [`super::check`].

use async_trait::async_trait;

use super::SummaryError;
use crate::model::ModelError;
use crate::typed::Validated;

/// Why no summary was written.
#[derive(Debug, thiserror::Error)]
pub enum SummarizeError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("the answer holds nothing that could be quoted")]
    NothingToQuote,
    #[error("{0}")]
    Other(String),
}

/// Why an answer has no summary, though one was wanted.
#[derive(Debug, thiserror::Error)]
pub enum NoSummary {
    #[error(transparent)]
    Written(#[from] SummarizeError),
    #[error(transparent)]
    Checked(#[from] SummaryError),
}

/// Writes a summary as the text of one JSON object. It is given validated output only: no other can be had.
#[async_trait]
pub trait Summarizer: Send + Sync {
    async fn summarize(&self, query: &str, output: &Validated) -> Result<String, SummarizeError>;
}
