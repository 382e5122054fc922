//! What a model is asked to be: a planner, or a summariser.

use async_trait::async_trait;

use super::{Anthropic, ModelError, OpenAi, prompt};
use crate::offer::Offer;
use crate::planner::{PlanError, Planner};
use crate::summary::{SummarizeError, Summarizer};
use crate::typed::Validated;

/// One question to a model, one text back.
#[async_trait]
pub(super) trait Chat: Send + Sync {
    async fn complete(&self, system: &str, user: &str) -> Result<String, ModelError>;
}

#[async_trait]
impl Planner for OpenAi {
    async fn plan(&self, query: &str, offers: &[Offer]) -> Result<String, PlanError> {
        Ok(self.complete(prompt::PLAN, &prompt::plan(query, offers)).await?)
    }
}

#[async_trait]
impl Planner for Anthropic {
    async fn plan(&self, query: &str, offers: &[Offer]) -> Result<String, PlanError> {
        Ok(self.complete(prompt::PLAN, &prompt::plan(query, offers)).await?)
    }
}

#[async_trait]
impl Summarizer for OpenAi {
    async fn summarize(&self, query: &str, output: &Validated) -> Result<String, SummarizeError> {
        Ok(self.complete(prompt::SUMMARY, &prompt::summary(query, output)).await?)
    }
}

#[async_trait]
impl Summarizer for Anthropic {
    async fn summarize(&self, query: &str, output: &Validated) -> Result<String, SummarizeError> {
        Ok(self.complete(prompt::SUMMARY, &prompt::summary(query, output)).await?)
    }
}
