//! `--replay`: runs the calls of one file and shows what each does, and which tests fail after it.
//!
//! Each call is a line of its own here; a trace of the calls within it belongs below that line ([`shown`]).

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::fuzz::call::Call;
use ::fuzz::campaign::{Campaign, Start};
use ::fuzz::chain::{Limits, Machine, Outcome};
use ::fuzz::config::{Format, Settings};
use ::fuzz::corpus::folder::MAX_FILE_BYTES;
use ::fuzz::corpus::format;
use ::fuzz::deploy::reason;
use ::fuzz::generate::Dictionary;
use ::fuzz::reproducer::solidity;
use ::fuzz::target::Target;
use contract::text::one_line;
use serde_json::{Value, json};

use super::plan::Plan;
use super::site;
use super::subject::Subject;
use crate::exit::Exit;
use crate::report::{Explain, Failure, Result};
use crate::ui::{DIM, ERROR, GOOD, Ui, WARN};

/// Gas bounds a call; this is for a limit of gas that does not.
const CALL_TIME: Duration = Duration::from_secs(60);

/// What is shown of what a call returned, in bytes.
const MAX_SHOWN: usize = 200;

/// A call that was made again.
struct Replayed {
    line: String,
    /// None where only time went by.
    outcome: Option<Outcome>,
}

/// A test that fails.
struct Broken {
    /// How many calls it takes.
    after: usize,
    name: String,
    place: Option<String>,
}

pub(super) fn run(ui: Ui, plan: &Plan, subject: &Subject, file: &Path) -> Result<Exit> {
    let calls = read(file, &subject.target)?;
    let replayed = replay(&calls, &subject.target, &plan.settings);
    let broken = judge(&calls, subject, &plan.settings)?;
    match plan.format {
        Format::Text => print(ui, &replayed, &broken)?,
        Format::Json => ui.json(&as_json(&replayed, &broken))?,
        Format::None => {}
    }
    Ok(if broken.is_empty() { Exit::Success } else { Exit::No })
}

fn read(file: &Path, target: &Target) -> Result<Vec<Call>> {
    let name = file.display();
    let usage = |failure: Failure| failure.with_exit(Exit::Usage);
    let hint = "give a file of the corpus, such as corpus/reproducers/1234.txt";
    let mut text = String::new();
    let opened = File::open(file).explain(format_args!("cannot read {name}"));
    let mut opened = opened.hint(hint).map_err(usage)?.take(MAX_FILE_BYTES + 1);
    opened.read_to_string(&mut text).explain(format_args!("cannot read {name}")).map_err(usage)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(Failure::usage(format!("{name} has more than {MAX_FILE_BYTES} bytes")));
    }
    format::read(&text, target).map_err(|error| {
        let hint = match error.is_foreign() {
            true => "it belongs to another contract: name that with --contract NAME",
            false => hint,
        };
        let error = anyhow::Error::from(error).context(format!("cannot replay {name}"));
        usage(Failure::from(error).with_hint(hint))
    })
}

fn replay(calls: &[Call], target: &Target, settings: &Settings) -> Vec<Replayed> {
    let limits = Limits { gas: settings.call_gas, time: CALL_TIME };
    let mut machine = Machine::new(target.state.clone(), target.codes.clone(), Vec::new(), limits);
    let mut buffer = Vec::new();
    let mut replayed = Vec::new();
    for call in calls {
        machine.wait(call.delay.seconds, call.delay.blocks);
        let transaction = call.transaction(target, &mut buffer);
        let outcome = transaction.map(|transaction| machine.call(&transaction));
        replayed.push(Replayed { line: solidity::line(call, target), outcome });
    }
    replayed
}

/// Lets a campaign that makes no calls of its own run the sequence: it judges as it does while it fuzzes.
fn judge(calls: &[Call], subject: &Subject, settings: &Settings) -> Result<Vec<Broken>> {
    let settings = Arc::new(Settings { test_limit: 0, shrink_limit: 0, ..settings.clone() });
    let target = &subject.target;
    let campaign = Campaign::start(Start {
        target: target.clone(),
        dictionary: Dictionary::of(target, &settings),
        settings,
        workers: 1,
        corpus: vec![calls.to_vec()],
        commands: Vec::new(),
        recorder: Box::new(()),
    });
    let summary = campaign.explain("cannot start a thread for the replay")?.wait();
    let mut broken: Vec<_> = summary
        .failures
        .iter()
        .map(|failure| Broken {
            after: failure.found.len(),
            name: target.tests[failure.test].name.clone(),
            place: site::line(target, failure.site),
        })
        .collect();
    broken.sort_by_key(|broken| broken.after);
    Ok(broken)
}

fn print(ui: Ui, replayed: &[Replayed], broken: &[Broken]) -> Result {
    let mut out = ui.out();
    tell(&mut out, broken, 0)?;
    for (index, call) in replayed.iter().enumerate() {
        shown(&mut out, index + 1, call)?;
        tell(&mut out, broken, index + 1)?;
    }
    if broken.is_empty() {
        writeln!(out, "{GOOD}no test fails{GOOD:#}")?;
    }
    Ok(())
}

fn shown(out: &mut impl Write, number: usize, call: &Replayed) -> std::io::Result<()> {
    writeln!(out, "{number}. {}", one_line(&call.line))?;
    let Some(outcome) = &call.outcome else { return Ok(()) };
    let gas = outcome.gas_used;
    match outcome.is_success() {
        true => {
            let output = shortened(outcome.output.to_string());
            writeln!(out, "   {DIM}returned {output}, {gas} gas{DIM:#}")
        }
        false => {
            let reason = one_line(&shortened(reason(outcome)));
            writeln!(out, "   {WARN}{reason}{WARN:#}, {gas} gas")
        }
    }
}

/// What fits on a line or two; `--json` has all of it.
fn shortened(mut text: String) -> String {
    if text.len() > MAX_SHOWN {
        text.truncate(text.floor_char_boundary(MAX_SHOWN));
        text.push('…');
    }
    text
}

/// The tests that fail once so many calls were made.
fn tell(out: &mut impl Write, broken: &[Broken], after: usize) -> std::io::Result<()> {
    for Broken { name, place, .. } in broken.iter().filter(|broken| broken.after == after) {
        let place = place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
        writeln!(out, "   {ERROR}{} fails{ERROR:#}{}", one_line(name), one_line(&place))?;
    }
    Ok(())
}

fn as_json(replayed: &[Replayed], broken: &[Broken]) -> Value {
    let call = |(index, call): (usize, &Replayed)| {
        let fails = broken.iter().filter(|broken| broken.after == index + 1);
        json!({
            "text": call.line,
            "success": call.outcome.as_ref().map(Outcome::is_success),
            "gas": call.outcome.as_ref().map(|outcome| outcome.gas_used),
            "output": call.outcome.as_ref().map(|outcome| outcome.output.to_string()),
            "reason": call.outcome.as_ref().filter(|it| !it.is_success()).map(reason),
            "fails": fails.map(|broken| &broken.name).collect::<Vec<_>>(),
        })
    };
    json!({
        "success": broken.is_empty(),
        "calls": replayed.iter().enumerate().map(call).collect::<Vec<_>>(),
        "tests": broken
            .iter()
            .map(|broken| json!({"name": broken.name, "after": broken.after, "reason": broken.place}))
            .collect::<Vec<_>>(),
    })
}
