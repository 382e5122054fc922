//! Counts what a campaign really found: the sequences that it kept are run on plain `revm`, and each assertion that
//! fails is named by the argument of its event. What the campaign itself says is not read.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use alloy_primitives::{B256, Log, TxKind, U256, keccak256};
use fuzz::abi::{Type, Value as Argument, decode};
use fuzz::call::Call;
use fuzz::config::{Settings, TestMode};
use fuzz::corpus::{Kind, format};
use fuzz::deploy::deploy;
use fuzz::target::Target;
use revm::interpreter::InterpreterTypes;
use revm::{ExecuteEvm as _, InspectEvm as _, Inspector};
use serde_json::{Value, json};

use super::plain::{self, Chain};
use super::{Result, Subject};

/// Sequences that are kept for what they break and for what they reach: any of them may show a bug.
const KINDS: [Kind; 3] = [Kind::Reproducer, Kind::Unshrunk, Kind::Coverage];

/// Hears events at once; those of a call that is undone in the end are in no receipt.
struct Ear {
    topic: B256,
    heard: BTreeSet<String>,
}

impl<C, I: InterpreterTypes> Inspector<C, I> for Ear {
    fn log(&mut self, _: &mut C, log: Log) {
        if log.topics() == [self.topic] {
            self.heard.extend(text(&log.data.data));
        }
    }
}

pub(super) fn run(subject: &Subject, folder: &Path) -> Result<Value> {
    // Only to read names of functions in the files of the corpus.
    let settings = Settings { test_mode: TestMode::Assertion, ..Settings::default() };
    let target = deploy(subject.build.clone(), subject.contract, &settings)?;
    let ear = Ear { topic: keccak256("AssertionFailed(string)"), heard: BTreeSet::new() };
    let (mut chain, address) = plain::deploy(subject.contract(), ear)?;
    let files = files(folder)?;
    for file in &files {
        let calls = format::read(&fs::read_to_string(file)?, &target)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        replay(&mut chain, TxKind::Call(address), &target, &calls)?;
    }
    Ok(json!({"sequences": files.len(), "bugs": chain.inspector.heard}))
}

/// Runs a sequence from where all begin.
fn replay(chain: &mut Chain<Ear>, to: TxKind, target: &Target, calls: &[Call]) -> Result<()> {
    drop(chain.finalize());
    let begin = chain.ctx.block.clone();
    let mut buffer = Vec::new();
    for call in calls {
        let block = &mut chain.ctx.block;
        block.timestamp += U256::from(call.delay.seconds);
        block.number += U256::from(call.delay.blocks);
        let Some(made) = call.transaction(target, &mut buffer) else { continue };
        let transaction = plain::transaction(made.from, to, made.value, made.data);
        // A call that its sender cannot pay is no call; sequences go on after it.
        let _ = chain.inspect_one_tx(transaction);
    }
    chain.ctx.block = begin;
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for kind in KINDS {
        let folder = folder.join(kind.folder());
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

/// The only argument of the event.
fn text(data: &[u8]) -> Option<String> {
    match decode(&[Type::String], data)?.pop()? {
        Argument::Bytes(bytes) => String::from_utf8(bytes).ok(),
        Argument::Word(_) | Argument::List(_) => None,
    }
}
