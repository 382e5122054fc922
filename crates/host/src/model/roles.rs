//! The planner and summarizer roles of models.

use async_trait::async_trait;

use super::{AnthropicModel, ModelError, OpenAiModel, prompt};
use crate::offer::ToolOffer;
use crate::planner::{Planner, PlannerError};
use crate::summary::{SummarizeError, Summarizer};
use crate::typed::ValidatedOutput;

/// A model that answers one prompt with one text.
#[async_trait]
pub(super) trait ChatModel: Send + Sync {
    /// Sends the prompts and returns the text of the response.
    async fn complete(&self, system: &str, user: &str) -> Result<String, ModelError>;
}

#[async_trait]
impl Planner for OpenAiModel {
    async fn plan(&self, query: &str, offers: &[ToolOffer]) -> Result<String, PlannerError> {
        Ok(self
            .complete(prompt::PLAN_INSTRUCTIONS, &prompt::build_plan_prompt(query, offers))
            .await?)
    }
}

#[async_trait]
impl Planner for AnthropicModel {
    async fn plan(&self, query: &str, offers: &[ToolOffer]) -> Result<String, PlannerError> {
        Ok(self
            .complete(prompt::PLAN_INSTRUCTIONS, &prompt::build_plan_prompt(query, offers))
            .await?)
    }
}

#[async_trait]
impl Summarizer for OpenAiModel {
    async fn summarize(
        &self,
        query: &str,
        output: &ValidatedOutput,
    ) -> Result<String, SummarizeError> {
        Ok(self
            .complete(prompt::SUMMARY_INSTRUCTIONS, &prompt::build_summary_prompt(query, output))
            .await?)
    }
}

#[async_trait]
impl Summarizer for AnthropicModel {
    async fn summarize(
        &self,
        query: &str,
        output: &ValidatedOutput,
    ) -> Result<String, SummarizeError> {
        Ok(self
            .complete(prompt::SUMMARY_INSTRUCTIONS, &prompt::build_summary_prompt(query, output))
            .await?)
    }
}
