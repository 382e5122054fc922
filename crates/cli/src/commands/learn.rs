//! `vouch learn`: drafts of contracts for tools that have none, from what they really answered.

mod draft;
mod play;

use std::io::Write;
use std::sync::Arc;

use admit::learn::lacks_contract;
use admit::{Admission, Judged, Mode};
use app::config::{Layer, suggest};
use app::upstreams;
use contract::text::one_line;
use gateway::read_samples;
use serde_json::{Map, Value};

use crate::commands::{Context, Format};
use crate::exit::Exit;
use crate::logging;
use crate::report::{Failure, FailureKind, Result};
use crate::ui::{BOLD, GOOD, HINT, WARN};
use draft::Drafted;

/// Draft contracts for another server's tools from what they answer
///
/// It learns from the answers that `vouch gateway --learn` kept, from the calls given with --call, and, where a tool only
/// reads, from calls with its own examples. These calls are checked, limited, approved and recorded as any other; only
/// what the tool lacks is not held against it.
///
/// A draft is for you to edit and commit: it says nothing that no answer showed, and it says which answers are missing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch learn files
  vouch learn files --tool get_file_info --call 'get_file_info {\"path\": \"README.md\"}' --write")]
pub(crate) struct Args {
    /// Which server
    upstream: String,
    /// Only this tool, by its own name; may be given several times [default: those that are refused]
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    /// Call a tool to learn from its answer; may be given several times
    #[arg(long = "call", value_name = "TOOL JSON")]
    calls: Vec<String>,
    /// Write the drafts where overlays are: contracts/<server>/<tool>.json
    #[arg(long)]
    write: bool,
    /// Replace overlays that are there
    #[arg(long, requires = "write")]
    force: bool,
    #[command(flatten)]
    format: Format,
}

/// A call to be made, by the tool's own name.
struct Planned {
    tool: String,
    arguments: Map<String, Value>,
    /// Somebody asked for it.
    is_asked_for: bool,
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let layer = Layer::default().with_packs(Vec::new());
    let settings = Arc::new(ctx.app.settings_with(layer)?);
    logging::init_if_asked(ctx)?;
    let calls = args.calls.iter().map(|text| planned(text)).collect::<Result<Vec<_>>>()?;
    let names = [args.upstream.clone()];
    let mut options = upstreams::lower(&ctx.app, &settings, &names)?.complete()?;
    let folder = upstreams::samples(&settings);
    options.samples = Some(folder.clone());
    for upstream in &mut options.upstreams {
        // What is refused for the lack of a contract is what there is to learn.
        upstream.policy.mode = Mode::Observe;
    }
    let (admission, failed) = ctx.block_on(async {
        let wanted = |admission: &Admission| names_exist(args, &calls, admission);
        play::play(ctx, &settings, options, &calls, wanted, &args.tools).await
    })?;
    let samples = read_samples(&folder, &args.upstream)?;
    let is_named = |name: &str| {
        args.tools.iter().any(|tool| tool == name) || calls.iter().any(|call| call.tool == name)
    };
    let asked = !args.tools.is_empty() || !calls.is_empty();
    let is_wanted = |tool: &&Judged| is_named(&tool.name) || (!asked && lacks_contract(tool));
    let mut drafts: Vec<Drafted> = admission
        .tools
        .iter()
        .filter(is_wanted)
        .map(|tool| {
            let samples = samples.get(&tool.name).cloned().unwrap_or_default();
            Drafted::new(&settings, &args.upstream, tool, &samples)
        })
        .collect();
    if args.write {
        for draft in &mut drafts {
            draft.write(&settings, args.force)?;
        }
    }
    print(ctx, args, &drafts)?;
    Ok(if failed { Exit::No } else { Exit::Success })
}

/// `TOOL JSON`, or a tool's name alone for no arguments.
fn planned(text: &str) -> Result<Planned> {
    let (tool, json) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), "{}"));
    match serde_json::from_str(json.trim()) {
        Ok(Value::Object(arguments)) => {
            Ok(Planned { tool: tool.to_owned(), arguments, is_asked_for: true })
        }
        _ => Err(Failure::usage("a value of --call is not a tool and a JSON object")
            .with_hint("such as: --call 'echo {\"message\": \"hi\"}'")),
    }
}

fn names_exist(args: &Args, calls: &[Planned], admission: &Admission) -> Result {
    let named = args.tools.iter().chain(calls.iter().map(|call| &call.tool));
    let known: Vec<&str> = admission.tools.iter().map(|tool| tool.name.as_str()).collect();
    match named.into_iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Failure::new(format!("{} has no tool `{name}`", args.upstream))
            .with_hint(suggest(name, &known, "tools"))
            .with_kind(FailureKind::Negative)),
    }
}

fn print(ctx: &Context, args: &Args, drafts: &[Drafted]) -> Result {
    let mut out = ctx.ui.out();
    if args.format.json {
        let all = Value::Array(drafts.iter().map(Drafted::view).collect());
        write!(out, "{}", contract::text::json(&all))?;
        return Ok(());
    }
    if drafts.is_empty() {
        ctx.ui.note("Every tool has its contract; to learn one nevertheless: --tool <TOOL>");
        return Ok(());
    }
    for draft in drafts {
        let samples = match draft.samples {
            0 => "no sample".to_owned(),
            1 => "1 sample".to_owned(),
            count => format!("{count} samples"),
        };
        writeln!(out, "{BOLD}{}{BOLD:#}  ({samples})", one_line(&draft.file))?;
        if draft.samples > 0 {
            write!(out, "{}", draft.text())?;
        }
        for note in &draft.notes {
            writeln!(out, "  {HINT}·{HINT:#} {note}")?;
        }
        match &draft.written {
            Some(Ok(())) => writeln!(out, "  {GOOD}written{GOOD:#}")?,
            Some(Err(why)) => writeln!(out, "  {WARN}not written:{WARN:#} {why}")?,
            None => {}
        }
        writeln!(out)?;
    }
    if !args.write && drafts.iter().any(|draft| draft.samples > 0) {
        ctx.ui.note("to write them: add --write");
    }
    Ok(())
}
