//! Patterns of `matches`, compiled once instead of at every call.
//!
//! CEL's own `matches` compiles its pattern each time. A pattern that stands in a rule is compiled with the rule, which
//! also finds the mistakes in it; the functions that CEL calls have no state, so what is compiled is kept here, for the
//! process. Only rules add to it, so it stays as small as the configurations that were read.

use std::collections::HashMap;
use std::sync::LazyLock;

use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::common::types::{CelBool, CelString, STRING_TYPE};
use cel::common::value::CowVal;
use cel::{Env, ExecutionError};
use parking_lot::RwLock;
use regex::{Regex, RegexBuilder};

use crate::RuleError;
use crate::ast::text;

/// No source text can name it.
const MATCHES: &str = "@matches";
/// A pattern may come from a caller, where a rule uses an argument as one.
const MAX_COMPILED: usize = 1 << 20;

static KNOWN: LazyLock<RwLock<HashMap<String, Regex>>> = LazyLock::new(RwLock::default);

/// CEL with its standard functions and ours.
pub(crate) fn environment() -> Env {
    let mut env = Env::stdlib();
    env.add_overload(MATCHES, "vouch_matches", vec![STRING_TYPE, STRING_TYPE], matches)
        .and_then(|()| {
            env.add_member_overload(
                MATCHES,
                "vouch_matches_on",
                STRING_TYPE,
                vec![STRING_TYPE],
                matches,
            )
        })
        .expect("the name is ours alone");
    env
}

/// Makes the calls of `matches` ours, and compiles their patterns.
pub(crate) fn prepare(rule: &str, expr: &mut IdedExpr) -> Result<(), RuleError> {
    match &mut expr.expr {
        Expr::Call(call) => {
            if call.func_name == "matches" {
                call.func_name = MATCHES.to_owned();
                if let Some(pattern) = call.args.last().and_then(text) {
                    remember(pattern).map_err(|source| RuleError::Pattern {
                        rule: rule.into(),
                        source: Box::new(source),
                    })?;
                }
            }
            let parts = call.target.iter_mut().map(|target| &mut **target).chain(&mut call.args);
            each(rule, parts)
        }
        Expr::Comprehension(inner) => each(
            rule,
            [
                &mut inner.iter_range,
                &mut inner.accu_init,
                &mut inner.loop_cond,
                &mut inner.loop_step,
                &mut inner.result,
            ],
        ),
        Expr::List(list) => each(rule, &mut list.elements),
        Expr::Select(select) => prepare(rule, &mut select.operand),
        Expr::Map(map) => {
            map.entries.iter_mut().try_for_each(|entry| in_entry(rule, &mut entry.expr))
        }
        Expr::Struct(literal) => {
            literal.entries.iter_mut().try_for_each(|entry| in_entry(rule, &mut entry.expr))
        }
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Ok(()),
    }
}

fn each<'e>(
    rule: &str,
    parts: impl IntoIterator<Item = &'e mut IdedExpr>,
) -> Result<(), RuleError> {
    parts.into_iter().try_for_each(|part| prepare(rule, part))
}

fn in_entry(rule: &str, entry: &mut EntryExpr) -> Result<(), RuleError> {
    match entry {
        EntryExpr::StructField(field) => prepare(rule, &mut field.value),
        EntryExpr::MapEntry(entry) => each(rule, [&mut entry.key, &mut entry.value]),
    }
}

fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(MAX_COMPILED).build()
}

fn remember(pattern: &str) -> Result<(), regex::Error> {
    let compiled = compile(pattern)?;
    // Nothing can be half done in there, so a panic elsewhere does not spoil it.
    let mut known = KNOWN.write();
    known.insert(pattern.to_owned(), compiled);
    Ok(())
}

fn matches<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let text = |at: usize| args.get(at).and_then(|value| value.downcast_ref::<CelString>());
    let (Some(of), Some(pattern)) = (text(0), text(1)) else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let known = KNOWN.read();
    let found = match known.get(pattern.inner()) {
        Some(compiled) => compiled.is_match(of.inner()),
        None => {
            drop(known);
            let compiled = compile(pattern.inner());
            compiled
                .map_err(|_| ExecutionError::function_error("matches", "not a pattern"))?
                .is_match(of.inner())
        }
    };
    Ok(CowVal::owned(CelBool::from(found)))
}
