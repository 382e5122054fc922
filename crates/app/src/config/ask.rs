//! The `[ask]` table: what `vouch ask` stops at, and which model plans.

use host::InputPolicy;
use secrecy::SecretString;
use serde::Deserialize;

use super::ConfigError;
use super::error::Spot;
use super::place::Place;
use super::values::{Endpoint, Variable};
use crate::env::Environment;

const TABLE: &str = "ask";
const ANTHROPIC: &str = "https://api.anthropic.com";

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct AskLayer {
    pub(super) forbid: Option<Vec<String>>,
    pub(super) provider: Option<Provider>,
    pub(super) base_url: Option<Endpoint>,
    pub(super) model: Option<String>,
    pub(super) api_key_env: Option<Variable>,
}

/// Which protocol the model's server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// `/chat/completions`
    OpenAi,
    /// `/v1/messages`
    Anthropic,
}

/// The table as commands use it.
#[derive(Clone, Debug)]
pub struct Ask {
    /// What a query must pass to go anywhere.
    pub policy: InputPolicy,
    provider: Option<Provider>,
    base_url: Option<String>,
    model: Option<String>,
    api_key: Option<SecretString>,
    spot: Option<Spot>,
}

/// What turns a question into one call.
#[derive(Clone, Debug)]
pub enum Planner {
    /// The one in this program.
    Embedded,
    Model {
        provider: Provider,
        base_url: String,
        model: String,
        api_key: Option<SecretString>,
    },
}

impl AskLayer {
    pub(super) fn over(self, lower: Self) -> Self {
        Self {
            forbid: self.forbid.or(lower.forbid),
            provider: self.provider.or(lower.provider),
            base_url: self.base_url.or(lower.base_url),
            model: self.model.or(lower.model),
            api_key_env: self.api_key_env.or(lower.api_key_env),
        }
    }

    pub(super) fn lower(
        self,
        place: Place<'_>,
        environment: &Environment,
    ) -> Result<Ask, ConfigError> {
        const COMPLETE: &str = "defaults.toml sets it";
        let policy = InputPolicy::new(&self.forbid.expect(COMPLETE)).map_err(|error| {
            let message = format!("`{}` is not a regular expression, or too large", error.pattern);
            place.wrong(&[TABLE, "forbid"], message)
        })?;
        let Variable(api_key_env) = self.api_key_env.expect(COMPLETE);
        Ok(Ask {
            policy,
            provider: self.provider,
            base_url: self.base_url.map(|Endpoint(url)| url),
            model: self.model,
            api_key: environment.secret(&api_key_env),
            spot: place.source.map(|source| source.spot_of(&[TABLE])),
        })
    }
}

impl Ask {
    /// Who plans. Judged only where something is asked: a variable of another program must not stop the others.
    pub fn planner(&self) -> Result<Planner, ConfigError> {
        if self.provider.is_none() && self.base_url.is_none() && self.model.is_none() {
            return Ok(Planner::Embedded);
        }
        let needed = |key| ConfigError::IncompleteAsk { spot: self.spot.clone(), key };
        let provider = self.provider.unwrap_or(Provider::OpenAi);
        let base_url = match (&self.base_url, provider) {
            (Some(url), _) => url.clone(),
            (None, Provider::Anthropic) => ANTHROPIC.to_owned(),
            // Questions go to nobody that was not named.
            (None, Provider::OpenAi) => return Err(needed("base_url")),
        };
        Ok(Planner::Model {
            provider,
            base_url,
            model: self.model.clone().ok_or_else(|| needed("model"))?,
            api_key: self.api_key.clone(),
        })
    }
}
