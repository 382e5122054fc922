//! The `[ask]` table: forbidden queries of `vouch ask`, and its language model.

use host::InputPolicy;
use secrecy::SecretString;
use serde::Deserialize;

use super::ConfigError;
use super::error::ConfigLocation;
use super::location::SourceContext;
use super::values::{EndpointUrl, VariableName};
use crate::env::Environment;

const TABLE: &str = "ask";
const ANTHROPIC: &str = "https://api.anthropic.com";

/// Raw values of the `[ask]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct AskLayer {
    pub(super) forbid: Option<Vec<String>>,
    pub(super) provider: Option<ModelProvider>,
    pub(super) base_url: Option<EndpointUrl>,
    pub(super) model: Option<String>,
    pub(super) api_key_env: Option<VariableName>,
}

/// The API of the language model's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelProvider {
    /// `/chat/completions`
    OpenAi,
    /// `/v1/messages`
    Anthropic,
}

/// The validated `[ask]` table.
#[derive(Clone, Debug)]
pub struct AskSettings {
    /// Policy that every query must pass.
    pub policy: InputPolicy,
    provider: Option<ModelProvider>,
    base_url: Option<String>,
    model: Option<String>,
    api_key: Option<SecretString>,
    location: Option<ConfigLocation>,
}

/// The configured planner, which turns a query into one call.
#[derive(Clone, Debug)]
pub enum PlannerConfig {
    /// The built-in planner.
    Embedded,
    Model {
        provider: ModelProvider,
        base_url: String,
        model: String,
        api_key: Option<SecretString>,
    },
}

impl AskLayer {
    /// Returns this layer with missing values taken from the lower one.
    pub(super) fn merge_over(self, lower: Self) -> Self {
        Self {
            forbid: self.forbid.or(lower.forbid),
            provider: self.provider.or(lower.provider),
            base_url: self.base_url.or(lower.base_url),
            model: self.model.or(lower.model),
            api_key_env: self.api_key_env.or(lower.api_key_env),
        }
    }

    /// Validates the table and reads the API key.
    pub(super) fn into_settings(
        self,
        place: SourceContext<'_>,
        environment: &Environment,
    ) -> Result<AskSettings, ConfigError> {
        const COMPLETE: &str = "defaults.toml sets it";
        let policy = InputPolicy::new(&self.forbid.expect(COMPLETE)).map_err(|error| {
            let message = format!("invalid or too large regular expression `{}`", error.pattern);
            place.invalid_value(&[TABLE, "forbid"], message)
        })?;
        let VariableName(api_key_env) = self.api_key_env.expect(COMPLETE);
        Ok(AskSettings {
            policy,
            provider: self.provider,
            base_url: self.base_url.map(|EndpointUrl(url)| url),
            model: self.model,
            api_key: environment.read_secret(&api_key_env),
            location: place.source.map(|source| source.locate_key(&[TABLE])),
        })
    }
}

impl AskSettings {
    /// Returns the configured planner, or an error if the model's configuration is incomplete.
    ///
    /// Checked only by `vouch ask`, so that LLM variables of another program do not break other commands.
    pub fn planner(&self) -> Result<PlannerConfig, ConfigError> {
        if self.provider.is_none() && self.base_url.is_none() && self.model.is_none() {
            return Ok(PlannerConfig::Embedded);
        }
        let needed = |key| ConfigError::IncompleteAsk { spot: self.location.clone(), key };
        let provider = self.provider.unwrap_or(ModelProvider::OpenAi);
        let base_url = match (&self.base_url, provider) {
            (Some(url), _) => url.clone(),
            (None, ModelProvider::Anthropic) => ANTHROPIC.to_owned(),
            // Queries are never sent to a server that was not configured.
            (None, ModelProvider::OpenAi) => return Err(needed("base_url")),
        };
        Ok(PlannerConfig::Model {
            provider,
            base_url,
            model: self.model.clone().ok_or_else(|| needed("model"))?,
            api_key: self.api_key.clone(),
        })
    }
}
