//! Counts the bugs that a campaign really found: replays its corpus on plain `revm` and collects the argument of each
//! assertion event. The campaign's own report is not used.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use alloy_primitives::{B256, Log, TxKind, U256, keccak256};
use fuzz::abi::{AbiType, AbiValue as Argument, decode_values};
use fuzz::call::SequenceCall;
use fuzz::config::{CampaignSettings, TestMode};
use fuzz::corpus::{SequenceKind, format};
use fuzz::deploy::deploy_target;
use fuzz::target::FuzzTarget;
use revm::interpreter::InterpreterTypes;
use revm::{ExecuteEvm as _, InspectEvm as _, Inspector};
use serde_json::{Value, json};

use super::plain::{self, Chain};
use super::{BenchSubject, Result};

/// Kinds of sequences that may reproduce a bug.
const KINDS: [SequenceKind; 3] =
    [SequenceKind::Reproducer, SequenceKind::Unshrunk, SequenceKind::Coverage];

/// Collects events as they are emitted; those of a reverted call are not in its receipt.
struct AssertionListener {
    topic: B256,
    heard: BTreeSet<String>,
}

impl<C, I: InterpreterTypes> Inspector<C, I> for AssertionListener {
    fn log(&mut self, _: &mut C, log: Log) {
        if log.topics() == [self.topic] {
            self.heard.extend(decode_text(&log.data.data));
        }
    }
}

pub(super) fn count_bugs(subject: &BenchSubject, folder: &Path) -> Result<Value> {
    // Needed only to resolve function names in the corpus files.
    let settings =
        CampaignSettings { test_mode: TestMode::Assertion, ..CampaignSettings::default() };
    let target = deploy_target(subject.build.clone(), subject.contract, &settings)?;
    let ear =
        AssertionListener { topic: keccak256("AssertionFailed(string)"), heard: BTreeSet::new() };
    let (mut chain, address) = plain::deploy(subject.contract(), ear)?;
    let files = list_files(folder)?;
    for file in &files {
        let calls = format::parse_sequence(&fs::read_to_string(file)?, &target)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        replay_sequence(&mut chain, TxKind::Call(address), &target, &calls)?;
    }
    Ok(json!({"sequences": files.len(), "bugs": chain.inspector.heard}))
}

/// Runs a sequence from the initial state.
fn replay_sequence(
    chain: &mut Chain<AssertionListener>,
    to: TxKind,
    target: &FuzzTarget,
    calls: &[SequenceCall],
) -> Result<()> {
    drop(chain.finalize());
    let begin = chain.ctx.block.clone();
    let mut buffer = Vec::new();
    for call in calls {
        let block = &mut chain.ctx.block;
        block.timestamp += U256::from(call.delay.seconds);
        block.number += U256::from(call.delay.blocks);
        let Some(made) = call.to_transaction(target, &mut buffer) else { continue };
        let transaction = plain::build_transaction(made.from, to, made.value, made.data);
        // A call that its sender cannot pay is skipped; the sequence continues.
        let _ = chain.inspect_one_tx(transaction);
    }
    chain.ctx.block = begin;
    Ok(())
}

fn list_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for kind in KINDS {
        let folder = folder.join(kind.folder_name());
        let listed = fs::read_dir(&folder);
        for entry in listed.map_err(|error| format!("{}: {error}", folder.display()))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "txt") {
                all.push(path);
            }
        }
    }
    all.sort();
    Ok(all)
}

/// Decodes the only argument of the event.
fn decode_text(data: &[u8]) -> Option<String> {
    match decode_values(&[AbiType::String], data)?.pop()? {
        Argument::Bytes(bytes) => String::from_utf8(bytes).ok(),
        Argument::Word(_) | Argument::List(_) => None,
    }
}
