//! The tables `[[rule]]`: read here, understood by the crate `rules`.

use std::collections::BTreeMap;

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

/// Which tools each rule is for, as globs; none means every tool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach(BTreeMap<String, Vec<String>>);

impl Reach {
    /// False where no tool whose name begins so can be one of the rule's.
    pub(crate) fn may_be_for(&self, rule: &str, prefix: &str) -> bool {
        let globs = self.0.get(rule).map(Vec::as_slice).unwrap_or_default();
        let may_match = |glob: &String| {
            let plain = glob.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default();
            plain.starts_with(prefix) || prefix.starts_with(plain)
        };
        globs.is_empty() || globs.iter().any(may_match)
    }
}

pub(super) fn lower(
    layers: Vec<RuleLayer>,
    place: Place<'_>,
) -> Result<(Rules, Reach), ConfigError> {
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
    let reach = rules.iter().map(|rule| (rule.name.clone(), rule.tools.clone())).collect();
    let rules = Rules::compile(rules).map_err(|source| {
        let named = |name: &String| name == source.rule();
        let (index, key) = match source {
            RuleError::Duplicate { .. } => (names.iter().rposition(named), "name"),
            RuleError::Glob { .. } => (names.iter().position(named), "tools"),
            _ => (names.iter().position(named), "when"),
        };
        let spot = place.entry(TABLE, index.unwrap_or_default()).spot_of(&[key]);
        ConfigError::Rule { spot, source: Box::new(source) }
    })?;
    Ok((rules, Reach(reach)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_tools_a_rule_may_be_for() {
        let globs = [
            ("all", vec![]),
            ("any", vec!["*".to_owned()]),
            ("files", vec!["files__*".to_owned()]),
            ("one", vec!["hello".to_owned(), "files__read".to_owned()]),
            ("some", vec!["{files,db}__*".to_owned()]),
            ("part", vec!["fi*".to_owned()]),
        ];
        let reach = Reach(globs.map(|(name, globs)| (name.to_owned(), globs)).into());
        let of = |prefix| {
            let rules = ["all", "any", "files", "one", "some", "part"].into_iter();
            rules.filter(|rule| reach.may_be_for(rule, prefix)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("files__"), "all any files one some part");
        assert_eq!(of("db__"), "all any some");
    }
}
