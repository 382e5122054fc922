//! Patterns of `matches`, compiled once instead of at every call.
//!
//! CEL's own `matches` compiles its pattern on every evaluation. A literal pattern in a rule is compiled with the rule,
//! which also reports invalid patterns early. CEL functions have no state, so compiled patterns are cached in a static
//! for the life of the process. Only rules add to the cache, so it is bounded by the configurations that were read.

use std::collections::HashMap;
use std::sync::LazyLock;

use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::common::types::{CelBool, CelString, STRING_TYPE};
use cel::common::value::CowVal;
use cel::{Env, ExecutionError};
use parking_lot::RwLock;
use regex::{Regex, RegexBuilder};

use crate::RuleError;
use crate::ast::as_string_literal;

/// Internal function name; CEL source text cannot spell it.
const CACHED_MATCHES: &str = "@matches";
/// Maximum compiled size in bytes. A rule may use an argument as a pattern, so patterns can come from a caller.
const MAX_COMPILED: usize = 1 << 20;

static COMPILED_PATTERNS: LazyLock<RwLock<HashMap<String, Regex>>> = LazyLock::new(RwLock::default);

/// Returns a CEL environment with the standard functions and the cached `matches`.
pub(crate) fn build_environment() -> Env {
    let mut env = Env::stdlib();
    env.add_overload(
        CACHED_MATCHES,
        "vouch_matches",
        vec![STRING_TYPE, STRING_TYPE],
        matches_pattern,
    )
    .and_then(|()| {
        env.add_member_overload(
            CACHED_MATCHES,
            "vouch_matches_on",
            STRING_TYPE,
            vec![STRING_TYPE],
            matches_pattern,
        )
    })
    .expect("no other function has this name");
    env
}

/// Redirects calls of `matches` to the cached version, and compiles their literal patterns.
///
/// Errors if a pattern is invalid.
pub(crate) fn prepare_patterns(rule: &str, expr: &mut IdedExpr) -> Result<(), RuleError> {
    match &mut expr.expr {
        Expr::Call(call) => {
            if call.func_name == "matches" {
                call.func_name = CACHED_MATCHES.to_owned();
                if let Some(pattern) = call.args.last().and_then(as_string_literal) {
                    cache_pattern(pattern).map_err(|source| RuleError::Pattern {
                        rule: rule.into(),
                        source: Box::new(source),
                    })?;
                }
            }
            let parts = call.target.iter_mut().map(|target| &mut **target).chain(&mut call.args);
            prepare_all(rule, parts)
        }
        Expr::Comprehension(inner) => prepare_all(
            rule,
            [
                &mut inner.iter_range,
                &mut inner.accu_init,
                &mut inner.loop_cond,
                &mut inner.loop_step,
                &mut inner.result,
            ],
        ),
        Expr::List(list) => prepare_all(rule, &mut list.elements),
        Expr::Select(select) => prepare_patterns(rule, &mut select.operand),
        Expr::Map(map) => {
            map.entries.iter_mut().try_for_each(|entry| prepare_entry(rule, &mut entry.expr))
        }
        Expr::Struct(literal) => {
            literal.entries.iter_mut().try_for_each(|entry| prepare_entry(rule, &mut entry.expr))
        }
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Ok(()),
    }
}

fn prepare_all<'e>(
    rule: &str,
    parts: impl IntoIterator<Item = &'e mut IdedExpr>,
) -> Result<(), RuleError> {
    parts.into_iter().try_for_each(|part| prepare_patterns(rule, part))
}

fn prepare_entry(rule: &str, entry: &mut EntryExpr) -> Result<(), RuleError> {
    match entry {
        EntryExpr::StructField(field) => prepare_patterns(rule, &mut field.value),
        EntryExpr::MapEntry(entry) => prepare_all(rule, [&mut entry.key, &mut entry.value]),
    }
}

fn compile_pattern(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(MAX_COMPILED).build()
}

fn cache_pattern(pattern: &str) -> Result<(), regex::Error> {
    let compiled = compile_pattern(pattern)?;
    let mut known = COMPILED_PATTERNS.write();
    known.insert(pattern.to_owned(), compiled);
    Ok(())
}

fn matches_pattern<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let text = |at: usize| args.get(at).and_then(|value| value.downcast_ref::<CelString>());
    let (Some(subject), Some(pattern)) = (text(0), text(1)) else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let known = COMPILED_PATTERNS.read();
    let found = match known.get(pattern.inner()) {
        Some(compiled) => compiled.is_match(subject.inner()),
        None => {
            drop(known);
            let compiled = compile_pattern(pattern.inner());
            compiled
                .map_err(|_| ExecutionError::function_error("matches", "invalid pattern"))?
                .is_match(subject.inner())
        }
    };
    Ok(CowVal::owned(CelBool::from(found)))
}
