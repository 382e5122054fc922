//! Who plans and who summarises: a model, or what is in this program.

use std::sync::atomic::{AtomicBool, Ordering};

use app::config::wrong_config;
use app::config::{self, Provider, Settings};
use async_trait::async_trait;
use host::{
    Anthropic, Embedded, Endpoint, Extractive, Offer, OpenAi, PlanError, Planner, Summarizer,
};

use super::Choice;
use crate::report::{Failure, FailureKind, Result};

/// A planner and a summariser that belong together: what one may see, the other may.
pub(super) struct Minds {
    pub(super) planner: Watched,
    pub(super) summarizer: Box<dyn Summarizer>,
}

/// A planner that remembers whether it broke down: that is no answer to the question, and not the asker's fault.
pub(super) struct Watched {
    planner: Box<dyn Planner>,
    broke: AtomicBool,
}

impl Watched {
    /// Whether it broke down since somebody asked last.
    pub(super) fn broke(&self) -> bool {
        self.broke.swap(false, Ordering::Relaxed)
    }
}

#[async_trait]
impl Planner for Watched {
    async fn plan(&self, query: &str, offers: &[Offer]) -> std::result::Result<String, PlanError> {
        let plan = self.planner.plan(query, offers).await;
        self.broke.store(plan.is_err(), Ordering::Relaxed);
        plan
    }
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
            let key = api_key.map(|key| host::Secret::new(key.reveal()));
            (provider, Endpoint::new(base_url, model).with_key(key))
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
    let planner = Watched { planner: Box::new(planner), broke: AtomicBool::new(false) };
    Minds { planner, summarizer: Box::new(summarizer) }
}
