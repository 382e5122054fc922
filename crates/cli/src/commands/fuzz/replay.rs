//! `--replay`: runs the calls of one file and shows what each does, and which tests fail after it.
//!
//! `fuzz::trace` makes the calls and decodes what each did, `judge` gives the verdict, `text` and `json` print it.

mod json;
mod judge;
mod text;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use ::fuzz::call::Call;
use ::fuzz::config::Format;
use ::fuzz::corpus::folder::MAX_FILE_BYTES;
use ::fuzz::corpus::format;
use ::fuzz::trace::{CALL_TIME, Traced, Tracer};
use app::campaign::plan::Plan;
use app::campaign::subject::Subject;

use crate::exit::Exit;
use crate::report::{Explain, Failure, FailureKind, Result};
use crate::ui::Ui;
use judge::{Judged, judge};

/// What was done is shown even if nobody can say which tests fail after it.
pub(super) fn run(ui: Ui, plan: &Plan, subject: &Subject, file: &Path) -> Result<Exit> {
    let calls = read(file, subject)?;
    let mut judged = judge(&calls, &subject.target, &plan.settings);
    let tracer = Tracer::new(&subject.target, &plan.settings, CALL_TIME);
    let replayed = replay(&calls, tracer, judged.as_mut().ok());
    let known = judged.as_ref().ok();
    match plan.format {
        Format::Text => text::print(&mut ui.out(), &replayed, known)?,
        Format::Json => ui.json(&json::of(&replayed, known))?,
        Format::None => {}
    }
    judged.map(|judged| if judged.broken.is_empty() { Exit::Success } else { Exit::No })
}

/// Makes the calls, and asks each test that fails at the moment when it does.
fn replay(calls: &[Call], mut tracer: Tracer<'_>, judged: Option<&mut Judged>) -> Vec<Traced> {
    let broken = judged.map(|judged| judged.broken.as_mut_slice()).unwrap_or_default();
    let mut replayed = Vec::new();
    for after in 0..=calls.len() {
        // Before the first call some tests may fail already.
        if let Some(call) = after.checked_sub(1).and_then(|index| calls.get(index)) {
            replayed.push(tracer.call(call));
        }
        for broken in broken.iter_mut().filter(|broken| broken.after == after) {
            broken.done = tracer.ask(broken.test);
        }
    }
    replayed
}

fn read(file: &Path, subject: &Subject) -> Result<Vec<Call>> {
    let name = file.display();
    let usage = |failure: Failure| failure.with_kind(FailureKind::Usage);
    let hint = "give a file of the corpus, such as corpus/reproducers/1234.txt";
    let mut text = String::new();
    let opened = File::open(file).explain(format_args!("cannot read {name}"));
    let mut opened = opened.hint(hint).map_err(usage)?.take(MAX_FILE_BYTES + 1);
    let read = opened.read_to_string(&mut text).explain(format_args!("cannot read {name}"));
    read.hint(hint).map_err(usage)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        let failure = Failure::usage(format!("{name} has more than {MAX_FILE_BYTES} bytes"));
        return Err(failure.with_hint(hint));
    }
    format::read(&text, &subject.target).map_err(|error| {
        let hint = match (error.is_foreign(), subject.is_bundled) {
            (true, true) => "it belongs to another contract: give the path of that, without --demo",
            (true, false) => "it belongs to another contract: name that with --contract NAME",
            (false, _) => hint,
        };
        let error = anyhow::Error::from(error).context(format!("cannot replay {name}"));
        usage(Failure::from(error).with_hint(hint))
    })
}
