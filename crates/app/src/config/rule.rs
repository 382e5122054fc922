//! The `[[rule]]` tables: parsed here, compiled by the crate `rules`.

use std::collections::BTreeMap;

use rules::{RuleDefinition, RuleEffect, RuleError, RuleSubject, Rules};
use serde::Deserialize;

use super::ConfigError;
use super::location::SourceContext;

const TABLE: &str = "rule";
const MAX_NAME: usize = 64;

/// Raw values of a `[[rule]]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct RuleLayer {
    name: Option<String>,
    effect: Option<RuleEffect>,
    on: Option<RuleSubject>,
    tools: Option<Vec<String>>,
    when: Option<String>,
}

/// The tool patterns of each rule; an empty list means every tool.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleScopes(BTreeMap<String, Vec<String>>);

impl RuleScopes {
    /// Returns false if the rule cannot apply to any tool whose name begins with `prefix`.
    pub(crate) fn may_apply_to(&self, rule: &str, prefix: &str) -> bool {
        let globs = self.0.get(rule).map(Vec::as_slice).unwrap_or_default();
        let may_match = |glob: &String| {
            let plain = glob.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default();
            plain.starts_with(prefix) || prefix.starts_with(plain)
        };
        globs.is_empty() || globs.iter().any(may_match)
    }
}

/// Validates and compiles the rules.
pub(super) fn compile_rules(
    layers: Vec<RuleLayer>,
    place: SourceContext<'_>,
) -> Result<(Rules, RuleScopes), ConfigError> {
    let mut rules = Vec::new();
    for (index, layer) in layers.into_iter().enumerate() {
        let entry = place.list_entry(TABLE, index);
        let needed =
            |key: &'static str| move || entry.invalid_value(&[key], "required for every rule");
        let name = layer.name.ok_or_else(needed("name"))?;
        let plain = !name.is_empty() && name.len() <= MAX_NAME && !name.contains(char::is_control);
        if !plain {
            let message = format!("expected a single line of 1 to {MAX_NAME} bytes");
            return Err(entry.invalid_value(&["name"], message));
        }
        rules.push(RuleDefinition {
            name,
            effect: layer.effect.ok_or_else(needed("effect"))?,
            on: layer.on.unwrap_or_default(),
            tools: layer.tools.unwrap_or_default(),
            when: layer.when.ok_or_else(needed("when"))?,
        });
    }
    let names: Vec<_> = rules.iter().map(|rule| rule.name.clone()).collect();
    let reach = rules.iter().map(|rule| (rule.name.clone(), rule.tools.clone())).collect();
    let rules = Rules::compile(rules).map_err(|source| {
        let named = |name: &String| name == source.rule();
        let (index, key) = match source {
            RuleError::Duplicate { .. } => (names.iter().rposition(named), "name"),
            RuleError::Glob { .. } => (names.iter().position(named), "tools"),
            _ => (names.iter().position(named), "when"),
        };
        let spot = place.list_entry(TABLE, index.unwrap_or_default()).locate_key(&[key]);
        ConfigError::Rule { spot, source: Box::new(source) }
    })?;
    Ok((rules, RuleScopes(reach)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_scopes_match_tool_prefixes() {
        let globs = [
            ("all", vec![]),
            ("any", vec!["*".to_owned()]),
            ("files", vec!["files__*".to_owned()]),
            ("one", vec!["hello".to_owned(), "files__read".to_owned()]),
            ("some", vec!["{files,db}__*".to_owned()]),
            ("part", vec!["fi*".to_owned()]),
        ];
        let reach = RuleScopes(globs.map(|(name, globs)| (name.to_owned(), globs)).into());
        let matching_rules = |prefix| {
            let rules = ["all", "any", "files", "one", "some", "part"].into_iter();
            rules.filter(|rule| reach.may_apply_to(rule, prefix)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(matching_rules("files__"), "all any files one some part");
        assert_eq!(matching_rules("db__"), "all any some");
    }
}
