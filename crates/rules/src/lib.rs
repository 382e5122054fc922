//! CEL rules on calls and results: an operator allows, denies, or requires approval.
//!
//! This crate owns the rules and their verdicts. It is pure and reads no files. The pipeline consults it before and
//! after a call, through [`contract::CallPolicy`]. Start reading at [`Rules`].
//!
//! # Variables
//!
//! - `tool`: the name in the catalog.
//! - `arguments`: the validated arguments.
//! - `caller`: `principal` and, if known, `client` and `session`.
//! - `annotations`: the hints of the tool. A missing hint has its MCP default (not read-only, destructive, not
//!   idempotent, open world).
//! - `result`: the structured content, for rules on results only.
//!
//! # Order
//!
//! The first matching rule decides, in the order of the file. If no rule matches, the call is allowed. To deny by
//! default, add a last rule with `effect = "deny"` and `when = "true"`.
//!
//! # Errors in rules
//!
//! [`Rules::compile`] rejects an expression that does not parse, is not a condition, or uses a name, function or field
//! that cannot exist. [`Rules::check_against`] also rejects arguments that no tool declares; it is a separate step
//! because it needs the contracts. A mistyped name must never become a rule that silently matches nothing or denies
//! everything.
//!
//! # Evaluation errors
//!
//! - A condition that reads an absent value, such as an omitted optional argument, is unknown. `unknown || true` is
//!   true, `unknown && false` is false, and a rule that stays unknown does not match. For example,
//!   `arguments.path.startsWith("/etc")` does not match a call without a path; `!has(arguments.path)` does.
//! - Any other error (a number compared with a string, an index into a number, an element that `filter` cannot
//!   evaluate) denies the call, regardless of the effect of the rule. The reason names the rule and contains no values.

mod absent;
mod ast;
mod check;
mod decide;
mod error;
mod nesting;
mod pattern;
mod schema;
mod shape;
mod value;

use std::sync::Arc;

use cel::{Env, IdedExpr};
use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

use ast::{FieldPath, RuleVariable};
pub use error::RuleError;

/// Maximum size of an expression in bytes; longer ones are not written or reviewed by hand.
pub const MAX_EXPRESSION_BYTES: usize = 4096;
/// Maximum nesting of brackets in an expression. The parser uses more than 100 KB of stack for each level.
pub const MAX_EXPRESSION_DEPTH: usize = 32;
/// Stack of the thread that parses an expression: three times what the deepest one takes without optimization.
const PARSER_STACK_BYTES: usize = 16 << 20;

/// The effect of a matching rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleEffect {
    Deny,
    Approve,
    Allow,
}

/// The subject of a rule: calls or results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleSubject {
    /// Evaluated before the call runs.
    #[default]
    Call,
    /// Evaluated on the result, before it is returned to the caller.
    Result,
}

/// A rule as written in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleDefinition {
    pub name: String,
    pub effect: RuleEffect,
    pub on: RuleSubject,
    /// Globs over catalog names; empty for every tool.
    pub tools: Vec<String>,
    /// The condition, a CEL expression.
    pub when: String,
}

/// Compiled rules, in the order of the configuration.
#[derive(Clone)]
pub struct Rules {
    rules: Vec<CompiledRule>,
    env: Arc<Env>,
}

/// A rule with its compiled globs and condition.
#[derive(Clone)]
struct CompiledRule {
    name: Arc<str>,
    effect: RuleEffect,
    on: RuleSubject,
    globs: Vec<String>,
    /// `None` if the rule applies to every tool.
    tools: Option<GlobSet>,
    condition: Arc<IdedExpr>,
    /// Paths that the condition reads, to be checked against contracts.
    paths: Vec<FieldPath>,
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.rules.iter().map(|rule| &rule.name)).finish()
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self { rules: Vec::new(), env: Arc::new(pattern::build_environment()) }
    }
}

impl Rules {
    /// Compiles rules in order; returns the first error.
    pub fn compile(rules: Vec<RuleDefinition>) -> Result<Self, RuleError> {
        let mut all = Self::default();
        for rule in rules {
            if all.rules.iter().any(|other| *other.name == *rule.name) {
                return Err(RuleError::Duplicate { rule: rule.name });
            }
            all.rules.push(compile_rule(rule, &all.env)?);
        }
        Ok(all)
    }

    /// Returns true if there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns the names of the rules, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| &*rule.name)
    }

    /// Returns true if at least one rule applies to the calls or results of this tool.
    pub fn has_rule_for(&self, on: RuleSubject, tool: &str) -> bool {
        self.rules.iter().any(|rule| rule.on == on && rule.applies_to(tool))
    }

    /// Returns the errors that need the tools to detect: fields that no tool declares, and globs that match no tool.
    pub fn check_against(&self, tools: &[(&str, &contract::Contract)]) -> Vec<RuleError> {
        self.rules.iter().flat_map(|rule| schema::check_against_contracts(rule, tools)).collect()
    }
}

impl CompiledRule {
    fn applies_to(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|globs| globs.is_match(tool))
    }

    fn reads_variable(&self, root: RuleVariable) -> bool {
        self.paths.iter().any(|path| path.root == root)
    }
}

fn compile_rule(rule: RuleDefinition, env: &Env) -> Result<CompiledRule, RuleError> {
    let RuleDefinition { name, effect, on, tools: globs, when } = rule;
    if when.len() > MAX_EXPRESSION_BYTES {
        return Err(RuleError::TooLong { rule: name, bytes: when.len() });
    }
    let depth = nesting::bracket_depth(&when);
    if depth > MAX_EXPRESSION_DEPTH {
        return Err(RuleError::TooDeep { rule: name, depth });
    }
    let tools = compile_globs(&name, &globs)?;
    let mut condition = parse_expression(&name, &when, env)?;
    let paths = check::check_expression(&name, on, &condition)?;
    pattern::prepare_patterns(&name, &mut condition)?;
    let condition = Arc::new(condition);
    Ok(CompiledRule { name: name.into(), effect, on, globs, tools, condition, paths })
}

/// Returns `None` if there are no globs, which means every tool.
/// Parses an expression on a thread with enough stack for the deepest one.
fn parse_expression(name: &str, when: &str, env: &Env) -> Result<IdedExpr, RuleError> {
    let parse = || {
        env.compile(when)
            .map(|program| program.expression().clone())
            .map_err(|errors| RuleError::from_parse_errors(name, &errors))
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(PARSER_STACK_BYTES);
        match thread.spawn_scoped(scope, parse) {
            Ok(parsing) => parsing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => Err(RuleError::NoThread { rule: name.to_owned() }),
        }
    })
}

fn compile_globs(rule: &str, globs: &[String]) -> Result<Option<GlobSet>, RuleError> {
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
