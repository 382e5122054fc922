//! Who plans and who summarises: a model, or what is in this program.

use app::config::wrong_config;
use app::config::{self, Provider, Settings};
use host::{Anthropic, Embedded, Endpoint, Extractive, OpenAi, Planner, Summarizer};

use super::Choice;
use crate::report::{Failure, FailureKind, Result};

/// A planner and a summariser that belong together: what one may see, the other may.
pub(super) struct Minds {
    pub(super) planner: Box<dyn Planner>,
    pub(super) summarizer: Box<dyn Summarizer>,
}

pub(super) fn choose(settings: &Settings, choice: Option<Choice>) -> Result<Minds> {
    if choice == Some(Choice::Embedded) {
        return Ok(minds(Embedded, Extractive));
    }
    let model = match settings.ask.planner().map_err(wrong_config)? {
        config::Planner::Embedded if choice == Some(Choice::Model) => {
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
