//! Selects the planner and the summarizer of `vouch ask`: a language model, or the built-in ones.

use crate::config::config_failure;
use crate::config::{self, ModelProvider, Settings};
use host::{
    AnthropicModel, EmbeddedPlanner, ExtractiveSummarizer, ModelEndpoint, OpenAiModel, Planner,
    Summarizer,
};

use super::PlannerChoice;
use crate::failure::{Failure, FailureKind, Result};

/// A planner and the matching summarizer. Both send data to the same place, or both send none.
pub struct PlannerAndSummarizer {
    pub planner: Box<dyn Planner>,
    pub summarizer: Box<dyn Summarizer>,
}

/// Returns the chosen planner with its summarizer.
///
/// Without a choice, the configured model is used, or the built-in planner if no model is configured.
pub fn select_planner(
    settings: &Settings,
    choice: Option<PlannerChoice>,
) -> Result<PlannerAndSummarizer> {
    if choice == Some(PlannerChoice::Embedded) {
        return Ok(box_planner(EmbeddedPlanner, ExtractiveSummarizer));
    }
    let model = match settings.ask.planner().map_err(config_failure)? {
        config::PlannerConfig::Embedded if choice == Some(PlannerChoice::Model) => {
            return Err(Failure::usage("no model is configured").with_hint(
                "set LLM_BASE_URL and LLM_MODEL, or `base_url` and `model` of [ask] in vouch.toml",
            ));
        }
        config::PlannerConfig::Embedded => {
            return Ok(box_planner(EmbeddedPlanner, ExtractiveSummarizer));
        }
        config::PlannerConfig::Model { provider, base_url, model, api_key } => {
            (provider, ModelEndpoint::new(base_url, model).with_key(api_key))
        }
    };
    let usage = |error| Failure::from(error).with_kind(FailureKind::Usage);
    Ok(match model {
        (ModelProvider::OpenAi, at) => box_planner(
            OpenAiModel::new(&at).map_err(usage)?,
            OpenAiModel::new(&at).map_err(usage)?,
        ),
        (ModelProvider::Anthropic, at) => box_planner(
            AnthropicModel::new(&at).map_err(usage)?,
            AnthropicModel::new(&at).map_err(usage)?,
        ),
    })
}

fn box_planner(
    planner: impl Planner + 'static,
    summarizer: impl Summarizer + 'static,
) -> PlannerAndSummarizer {
    PlannerAndSummarizer { planner: Box::new(planner), summarizer: Box::new(summarizer) }
}
