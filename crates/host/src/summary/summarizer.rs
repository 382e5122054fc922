//! The summarizer trait. [`super::check_summary`] checks every summary.

use async_trait::async_trait;

use super::SummaryError;
use crate::model::ModelError;
use crate::typed::ValidatedOutput;

/// The reason why a summarizer returned no summary.
#[derive(Debug, thiserror::Error)]
pub enum SummarizeError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("the answer contains nothing to quote")]
    NothingToQuote,
    #[error("{0}")]
    Other(String),
}

/// The reason why an answer has no summary although one was requested.
#[derive(Debug, thiserror::Error)]
pub enum SummaryFailure {
    #[error(transparent)]
    Written(#[from] SummarizeError),
    #[error(transparent)]
    Checked(#[from] SummaryError),
}

/// Summarizes a validated output.
#[async_trait]
pub trait Summarizer: Send + Sync {
    /// Returns the summary as the text of one JSON object.
    async fn summarize(
        &self,
        query: &str,
        output: &ValidatedOutput,
    ) -> Result<String, SummarizeError>;
}
