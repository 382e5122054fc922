//! Who plans and who summarises: a model, or what is in this program.

use crate::config::wrong_config;
use crate::config::{self, Provider, Settings};
use host::{Anthropic, Embedded, Endpoint, Extractive, OpenAi, Planner, Summarizer};

use super::PlannerChoice;
use crate::failure::{Failure, FailureKind, Result};

/// A planner and a summariser that belong together: what one may see, the other may.
pub struct Minds {
    pub planner: Box<dyn Planner>,
    pub summarizer: Box<dyn Summarizer>,
}

/// Returns the chosen planner with its summarizer; without a choice, the configured model if there is one.
pub fn choose(settings: &Settings, choice: Option<PlannerChoice>) -> Result<Minds> {
    if choice == Some(PlannerChoice::Embedded) {
        return Ok(minds(Embedded, Extractive));
    }
    let model = match settings.ask.planner().map_err(wrong_config)? {
        config::Planner::Embedded if choice == Some(PlannerChoice::Model) => {
            return Err(Failure::usage("no model is configured").with_hint(
                "set LLM_BASE_URL and LLM_MODEL, or `base_url` and `model` of [ask] in vouch.toml",
            ));
        }
        config::Planner::Embedded => return Ok(minds(Embedded, Extractive)),
        config::Planner::Model { provider, base_url, model, api_key } => {
            (provider, Endpoint::new(base_url, model).with_key(api_key))
        }
    };
    let wrong = |error| Failure::from(error).with_kind(FailureKind::Usage);
    Ok(match model {
        (Provider::OpenAi, at) => {
            minds(OpenAi::new(&at).map_err(wrong)?, OpenAi::new(&at).map_err(wrong)?)
        }
        (Provider::Anthropic, at) => {
            minds(Anthropic::new(&at).map_err(wrong)?, Anthropic::new(&at).map_err(wrong)?)
        }
    })
}

fn minds(planner: impl Planner + 'static, summarizer: impl Summarizer + 'static) -> Minds {
    Minds { planner: Box::new(planner), summarizer: Box::new(summarizer) }
}
