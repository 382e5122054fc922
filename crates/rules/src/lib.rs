//! Rules on calls and results, in CEL: what an operator allows, denies, or wants a person to approve.
//!
//! This crate owns the rules and their verdicts. It is pure: it reads no files, and whoever runs calls asks it before and
//! after, through [`contract::CallPolicy`]. Start reading at [`Rules`].
//!
//! # What a rule sees
//!
//! `tool`, the name in the catalog; `arguments`, as they were validated; `caller` with `principal` and, where there is one,
//! `client` and `session`; `annotations`, the hints of the tool, where a missing hint has the value that MCP gives it
//! (not read-only, destructive, not idempotent, open world); and, for a rule on results, `result`, the structured content.
//!
//! # Which rule decides
//!
//! The first that matches, in the order of the file. If none does, the call is allowed; a last rule with
//! `effect = "deny"` and `when = "true"` turns that around.
//!
//! # What is refused before it can decide anything
//!
//! An expression that does not parse, is not a condition, or uses a name, function or field that cannot exist, is an
//! error of the configuration ([`Rules::compile`]); so is an argument that no tool has ([`Rules::check_against`], which
//! needs the contracts and is therefore a step of its own). A mistyped name must never become a rule that silently
//! matches nothing or denies everything.
//!
//! # When an expression cannot be evaluated
//!
//! - It reads something that is not there, such as an optional argument that the caller left out: that condition is
//!   unknown. `unknown || true` is true, `unknown && false` is false, and a rule that stays unknown does not match. So
//!   `arguments.path.startsWith("/etc")` says nothing about a call without a path; `!has(arguments.path)` does.
//! - Anything else (a number compared with a text, an index into a number, an element that `filter` cannot judge): the
//!   call is denied, whatever the rule's effect is, with a reason that names the rule and no value. What cannot be
//!   judged must not pass, and must not look like a decision either.

mod absent;
mod ast;
mod check;
mod decide;
mod error;
mod pattern;
mod schema;
mod shape;
mod value;

use std::sync::Arc;

use cel::{Env, IdedExpr};
use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

use ast::{Path, Root};
pub use error::RuleError;

/// Longer expressions are not written by hand, and nobody could read them.
pub const MAX_EXPRESSION: usize = 4096;

/// What a matching rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    Deny,
    Approve,
    Allow,
}

/// When a rule is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum On {
    /// Before the call runs.
    #[default]
    Call,
    /// When there is an answer, before anybody sees it.
    Result,
}

/// A rule as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub name: String,
    pub effect: Effect,
    pub on: On,
    /// Globs over catalog names; none means every tool.
    pub tools: Vec<String>,
    /// The condition, in CEL.
    pub when: String,
}

/// Rules that compiled, in their order.
#[derive(Clone)]
pub struct Rules {
    rules: Vec<Compiled>,
    env: Arc<Env>,
}

#[derive(Clone)]
struct Compiled {
    name: Arc<str>,
    effect: Effect,
    on: On,
    globs: Vec<String>,
    /// None where the rule is for every tool.
    tools: Option<GlobSet>,
    condition: Arc<IdedExpr>,
    /// What the condition reads, to be checked against contracts.
    paths: Vec<Path>,
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.rules.iter().map(|rule| &rule.name)).finish()
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self { rules: Vec::new(), env: Arc::new(pattern::environment()) }
    }
}

impl Rules {
    /// Compiles rules in their order; the first that is wrong is the error.
    pub fn compile(rules: Vec<Rule>) -> Result<Self, RuleError> {
        let mut all = Self::default();
        for rule in rules {
            if all.rules.iter().any(|other| *other.name == *rule.name) {
                return Err(RuleError::Duplicate { rule: rule.name });
            }
            all.rules.push(compile(rule, &all.env)?);
        }
        Ok(all)
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The names of the rules, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| &*rule.name)
    }

    /// True if a rule may have something to say about this tool's calls or results.
    pub fn concerns(&self, on: On, tool: &str) -> bool {
        self.rules.iter().any(|rule| rule.on == on && rule.is_for(tool))
    }

    /// What is wrong with the rules, now that the tools are known: fields that no tool has, globs that match none.
    pub fn check_against(&self, tools: &[(&str, &contract::Contract)]) -> Vec<RuleError> {
        self.rules.iter().flat_map(|rule| schema::check(rule, tools)).collect()
    }
}

impl Compiled {
    fn is_for(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|globs| globs.is_match(tool))
    }

    fn reads(&self, root: Root) -> bool {
        self.paths.iter().any(|path| path.root == root)
    }
}

fn compile(rule: Rule, env: &Env) -> Result<Compiled, RuleError> {
    let Rule { name, effect, on, tools: globs, when } = rule;
    if when.len() > MAX_EXPRESSION {
        return Err(RuleError::TooLong { rule: name, bytes: when.len() });
    }
    let tools = globset(&name, &globs)?;
    let program = env.compile(&when).map_err(|errors| RuleError::syntax(&name, &errors))?;
    let mut condition = program.expression().clone();
    let paths = check::check(&name, on, &condition)?;
    pattern::prepare(&name, &mut condition)?;
    let condition = Arc::new(condition);
    Ok(Compiled { name: name.into(), effect, on, globs, tools, condition, paths })
}

fn globset(rule: &str, globs: &[String]) -> Result<Option<GlobSet>, RuleError> {
    if globs.is_empty() {
        return Ok(None);
    }
    let wrong =
        |glob: &str, source| RuleError::Glob { rule: rule.into(), glob: glob.into(), source };
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(Glob::new(glob).map_err(|source| wrong(glob, source))?);
    }
    set.build().map(Some).map_err(|source| wrong(&globs.join(", "), source))
}
