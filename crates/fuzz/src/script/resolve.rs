//! Which function a written call means.

use std::cmp::Reverse;

use super::error::{ScriptError, Wrong};
use super::fit::{self, Manner, quoted};
use super::term::{Term, Written};
use super::{Step, nearest};
use crate::abi::Type;
use crate::config::number;
use crate::target::{Deployed, FunctionId, Target};

/// Names and signatures that an error lists.
const MAX_LISTED: usize = 8;

/// Finds the function and reads the arguments as its types want them.
pub(super) fn resolve(
    text: &str,
    written: &Written<'_>,
    target: &Target,
) -> Result<Step, ScriptError> {
    let mut first = None;
    let contracts = contracts(text, written, target)?;
    for contract in contracts {
        let overloads = overloads(contract, written.name, target);
        if overloads.is_empty() {
            continue;
        }
        match choose(text, &written.args, &overloads, target) {
            Err(
                error @ (ScriptError::Argument { .. }
                | ScriptError::NoOverload { .. }
                | ScriptError::Arity { .. }),
            ) => {
                first.get_or_insert(error);
            }
            chosen => return chosen,
        }
    }
    Err(first.unwrap_or_else(|| ScriptError::UnknownFunction {
        call: quoted(text),
        name: quoted(written.name),
        nearest: nearest(written.name, target),
    }))
}

/// The contracts that may be meant, the one under test first.
fn contracts(
    text: &str,
    written: &Written<'_>,
    target: &Target,
) -> Result<Vec<usize>, ScriptError> {
    let all = target.contracts.iter().enumerate();
    let Some(name) = written.contract else { return Ok(all.map(|(index, _)| index).collect()) };
    let address = number::parse_address(name).filter(|_| name.len() == 42);
    let is_meant = |it: &Deployed| it.name == name || Some(it.address) == address;
    let found: Vec<usize> = all.filter(|(_, it)| is_meant(it)).map(|(index, _)| index).collect();
    if found.is_empty() {
        let mut known: Vec<_> = target.contracts.iter().map(|it| it.name.clone()).collect();
        known.dedup();
        known.truncate(MAX_LISTED);
        return Err(ScriptError::UnknownContract {
            call: quoted(text),
            contract: quoted(name),
            known,
        });
    }
    Ok(found)
}

fn overloads(contract: usize, name: &str, target: &Target) -> Vec<FunctionId> {
    let functions = target.functions.iter().zip(0..);
    let named = functions.filter(|(it, _)| it.contract == contract && it.name == name);
    named.map(|(_, index)| FunctionId(index)).collect()
}

/// Chooses among functions of one name: by the number of arguments, then by their types.
fn choose(
    text: &str,
    args: &[Term<'_>],
    overloads: &[FunctionId],
    target: &Target,
) -> Result<Step, ScriptError> {
    let inputs = |id: FunctionId| &*target.function(id).inputs;
    let signature = |id: FunctionId| target.function(id).signature.clone();
    let call = || quoted(text);
    let (mut fitting, mut wrong) = (Vec::new(), Vec::new());
    for &function in overloads.iter().filter(|id| inputs(**id).len() == args.len()) {
        match fit::fit_all(args, inputs(function).iter(), Manner::Call) {
            Ok(args) => fitting.push(Step { function, args }),
            Err(misfit) => wrong.push((signature(function), Wrong::of(misfit))),
        }
    }
    if fitting.len() > 1 {
        // Of two that fit, the one that takes what looks like an address for one.
        let addresses = |step: &Step| addresses(args, inputs(step.function));
        fitting.sort_by_key(|step| Reverse(addresses(step)));
        let most = addresses(&fitting[0]);
        fitting.retain(|step| addresses(step) == most);
    }
    match (fitting.len(), wrong.len()) {
        (1, _) => Ok(fitting.remove(0)),
        (0, 0) => {
            let signatures = overloads.iter().take(MAX_LISTED).map(|id| signature(*id)).collect();
            Err(ScriptError::Arity { call: call(), given: args.len(), signatures })
        }
        (0, 1) => Err(ScriptError::Argument { call: call(), wrong: wrong.remove(0).1 }),
        (0, _) => {
            wrong.truncate(MAX_LISTED);
            Err(ScriptError::NoOverload { call: call(), wrong })
        }
        _ => {
            let signatures = fitting.iter().take(MAX_LISTED).map(|it| signature(it.function));
            Err(ScriptError::Ambiguous { call: call(), signatures: signatures.collect() })
        }
    }
}

/// How many arguments that look like addresses are taken for such.
fn addresses(args: &[Term<'_>], types: &[Type]) -> usize {
    let pairs = args.iter().zip(types);
    pairs.filter(|(term, ty)| fit::is_address(term) && **ty == Type::Address).count()
}
