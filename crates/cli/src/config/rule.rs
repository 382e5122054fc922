//! The tables `[[rule]]`: read here, understood by the crate `rules`.

use rules::{Effect, On, Rule, RuleError, Rules};
use serde::Deserialize;

use super::ConfigError;
use super::place::Place;

const TABLE: &str = "rule";
const MAX_NAME: usize = 64;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct RuleLayer {
    name: Option<String>,
    effect: Option<Effect>,
    on: Option<On>,
    tools: Option<Vec<String>>,
    when: Option<String>,
}

pub(super) fn lower(layers: Vec<RuleLayer>, place: Place<'_>) -> Result<Rules, ConfigError> {
    let mut rules = Vec::new();
    for (index, layer) in layers.into_iter().enumerate() {
        let entry = place.entry(TABLE, index);
        let needed = |key: &'static str| move || entry.wrong(&[key], "every rule needs one");
        let name = layer.name.ok_or_else(needed("name"))?;
        let plain = !name.is_empty() && name.len() <= MAX_NAME && !name.contains(char::is_control);
        if !plain {
            let message = format!("expected one to {MAX_NAME} bytes of text on one line");
            return Err(entry.wrong(&["name"], message));
        }
        rules.push(Rule {
            name,
            effect: layer.effect.ok_or_else(needed("effect"))?,
            on: layer.on.unwrap_or_default(),
            tools: layer.tools.unwrap_or_default(),
            when: layer.when.ok_or_else(needed("when"))?,
        });
    }
    let names: Vec<_> = rules.iter().map(|rule| rule.name.clone()).collect();
    Rules::compile(rules).map_err(|source| {
        let named = |name: &String| name == source.rule();
        let (index, key) = match source {
            RuleError::Duplicate { .. } => (names.iter().rposition(named), "name"),
            RuleError::Glob { .. } => (names.iter().position(named), "tools"),
            _ => (names.iter().position(named), "when"),
        };
        let spot = place.entry(TABLE, index.unwrap_or_default()).spot_of(&[key]);
        ConfigError::Rule { spot, source: Box::new(source) }
    })
}
