//! `--replay`: runs the calls of one file, prints a trace of each, and lists the tests that fail after it.
//!
//! `fuzz::trace` makes the calls and decodes their traces, `evaluate` finds the failing tests, `text` and `json` print both.
//! Start at [`run_replay`].

mod evaluate;
mod json;
mod text;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use ::fuzz::call::SequenceCall;
use ::fuzz::config::OutputFormat;
use ::fuzz::corpus::folder::MAX_FILE_BYTES;
use ::fuzz::corpus::format;
use ::fuzz::trace::{CALL_TIME, TracedCall, Tracer};
use app::campaign::plan::CampaignPlan;
use app::campaign::target::DeployedTarget;

use crate::exit::ExitStatus;
use crate::report::{Failure, FailureExt, FailureKind, Result};
use crate::ui::Ui;
use evaluate::{ReplayVerdict, evaluate_tests};

/// Replays a file and prints the result. The traces are printed even if the verdicts are unknown.
///
/// Returns `ExitStatus::Negative` if a test failed, and an error if the verdicts are unknown.
pub(super) fn run_replay(
    ui: Ui,
    plan: &CampaignPlan,
    subject: &DeployedTarget,
    file: &Path,
) -> Result<ExitStatus> {
    let calls = read_calls(file, subject)?;
    let mut judged = evaluate_tests(&calls, &subject.target, &subject.target.settings);
    let tracer = Tracer::new(&subject.target, &subject.target.settings, CALL_TIME);
    let replayed = trace_calls(&calls, tracer, judged.as_mut().ok());
    let verdict = judged.as_ref().ok();
    match plan.format {
        OutputFormat::Text => text::print_replay(&mut ui.stdout(), &replayed, verdict)?,
        OutputFormat::Json => ui.print_json(&json::replay_to_json(&replayed, verdict))?,
        OutputFormat::None => {}
    }
    let judged = judged?;
    if !judged.broken.is_empty() {
        return Ok(ExitStatus::Negative);
    }
    match find_not_run_reason(&replayed, &judged) {
        None => Ok(ExitStatus::Success),
        Some(reason) => Err(Failure::new(format!("failed to evaluate all tests: {reason}"))),
    }
}

/// Returns the reason that a call or a test could not be run, so that the verdicts are incomplete.
fn find_not_run_reason(replayed: &[TracedCall], judged: &ReplayVerdict) -> Option<String> {
    let of_call =
        |call: &TracedCall| call.done.as_ref()?.outcome.not_run_reason().map(ToString::to_string);
    let of_test = || judged.not_run.first().map(|(_, reason)| reason.clone());
    replayed.iter().find_map(of_call).or_else(of_test)
}

/// Makes the calls and returns their traces. Also traces each failing test right after the call that breaks it.
fn trace_calls(
    calls: &[SequenceCall],
    mut tracer: Tracer<'_>,
    judged: Option<&mut ReplayVerdict>,
) -> Vec<TracedCall> {
    let broken = judged.map(|judged| judged.broken.as_mut_slice()).unwrap_or_default();
    let mut replayed = Vec::new();
    for after in 0..=calls.len() {
        // Some tests may fail before the first call.
        if let Some(call) = after.checked_sub(1).and_then(|index| calls.get(index)) {
            replayed.push(tracer.trace_call(call));
        }
        for broken in broken.iter_mut().filter(|broken| broken.after == after) {
            broken.done = tracer.check_test(broken.test);
        }
    }
    replayed
}

/// Reads the calls of a corpus file.
fn read_calls(file: &Path, subject: &DeployedTarget) -> Result<Vec<SequenceCall>> {
    let name = file.display();
    let usage = |failure: Failure| failure.with_kind(FailureKind::Usage);
    let hint = "pass a corpus file, such as corpus/reproducers/1234.txt";
    let mut text = String::new();
    let opened = File::open(file).explain(format_args!("failed to read {name}"));
    let mut opened = opened.hint(hint).map_err(usage)?.take(MAX_FILE_BYTES + 1);
    let read = opened.read_to_string(&mut text).explain(format_args!("failed to read {name}"));
    read.hint(hint).map_err(usage)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        let failure = Failure::usage(format!("{name} is larger than {MAX_FILE_BYTES} bytes"));
        return Err(failure.with_hint(hint));
    }
    format::parse_sequence(&text, &subject.target).map_err(|error| {
        let hint = match (error.is_foreign(), subject.is_bundled) {
            (true, true) => "the file belongs to another target: pass its path instead of `--demo`",
            (true, false) => "the file belongs to another target: pass `--contract NAME`",
            (false, _) => hint,
        };
        let error = anyhow::Error::from(error).context(format!("failed to replay {name}"));
        usage(Failure::from(error).with_hint(hint))
    })
}
