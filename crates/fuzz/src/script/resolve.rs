//! Finds the function that a written call refers to.

use std::cmp::Reverse;

use super::error::{ArgumentMismatch, ScriptError};
use super::fit::{self, ArgumentSource, quote_text};
use super::term::{CallSyntax, ScriptTerm};
use super::{ScriptStep, find_nearest_signatures};
use crate::abi::AbiType;
use crate::config::number;
use crate::target::{DeployedContract, FunctionId, FuzzTarget};

/// Maximum names and signatures listed in an error.
const MAX_LISTED: usize = 8;

/// Finds the function and converts the arguments to its types.
pub(super) fn resolve_call(
    text: &str,
    written: &CallSyntax<'_>,
    target: &FuzzTarget,
) -> Result<ScriptStep, ScriptError> {
    let mut first = None;
    let contracts = find_contracts(text, written, target)?;
    for contract in contracts {
        let overloads = find_overloads(contract, written.name, target);
        if overloads.is_empty() {
            continue;
        }
        match choose_overload(text, &written.args, &overloads, target) {
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
        call: quote_text(text),
        name: quote_text(written.name),
        nearest: find_nearest_signatures(written.name, target),
    }))
}

/// Returns the candidate contracts, the one under test first.
fn find_contracts(
    text: &str,
    written: &CallSyntax<'_>,
    target: &FuzzTarget,
) -> Result<Vec<usize>, ScriptError> {
    // Contracts that sequences create have no address to call.
    let all = target.contracts.iter().enumerate().filter(|(_, it)| !it.address.is_zero());
    let Some(name) = written.contract else { return Ok(all.map(|(index, _)| index).collect()) };
    let address = number::parse_address(name).filter(|_| name.len() == 42);
    let is_meant = |it: &DeployedContract| it.name == name || Some(it.address) == address;
    let found: Vec<usize> = all.filter(|(_, it)| is_meant(it)).map(|(index, _)| index).collect();
    if found.is_empty() {
        let mut known: Vec<_> = target.contracts.iter().map(|it| it.name.clone()).collect();
        known.dedup();
        known.truncate(MAX_LISTED);
        return Err(ScriptError::UnknownContract {
            call: quote_text(text),
            contract: quote_text(name),
            known,
        });
    }
    Ok(found)
}

fn find_overloads(contract: usize, name: &str, target: &FuzzTarget) -> Vec<FunctionId> {
    let functions = target.functions.iter().zip(0..);
    let named = functions.filter(|(it, _)| it.contract == contract && it.name == name);
    named.map(|(_, index)| FunctionId(index)).collect()
}

/// Chooses among functions of one name: by argument count, then by argument types.
fn choose_overload(
    text: &str,
    args: &[ScriptTerm<'_>],
    overloads: &[FunctionId],
    target: &FuzzTarget,
) -> Result<ScriptStep, ScriptError> {
    let inputs = |id: FunctionId| &*target.function(id).inputs;
    let signature = |id: FunctionId| target.function(id).signature.clone();
    let call = || quote_text(text);
    let (mut fitting, mut wrong) = (Vec::new(), Vec::new());
    for &function in overloads.iter().filter(|id| inputs(**id).len() == args.len()) {
        match fit::fit_terms(args, inputs(function).iter(), ArgumentSource::Call) {
            Ok(args) => fitting.push(ScriptStep { function, args }),
            Err(misfit) => {
                wrong.push((signature(function), ArgumentMismatch::from_type_mismatch(misfit)))
            }
        }
    }
    if fitting.len() > 1 {
        // Prefer the overload that takes address literals as addresses.
        let addresses = |step: &ScriptStep| count_addresses(args, inputs(step.function));
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

/// Counts the address literals that are passed as addresses.
fn count_addresses(args: &[ScriptTerm<'_>], types: &[AbiType]) -> usize {
    let pairs = args.iter().zip(types);
    pairs.filter(|(term, ty)| fit::is_address(term) && **ty == AbiType::Address).count()
}
