//! `vouch learn`: drafts overlays for upstream tools without a contract, from samples of their answers.

mod draft;
mod sample_calls;

use std::io::Write;
use std::sync::Arc;

use admit::learn::lacks_contract;
use admit::{Admission, AdmissionMode, ToolAdmission};
use app::config::{ConfigLayer, suggest_name};
use app::upstreams;
use contract::text::one_line;
use gateway::read_samples;
use serde_json::{Map, Value};

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::logging;
use crate::report::{Failure, FailureKind, Result};
use crate::ui::{BOLD, GOOD, HINT, WARN};
use draft::LearnDraft;

/// Draft contracts for an upstream server's tools from their answers
///
/// The samples are the answers that `vouch gateway --learn` kept, the answers to the calls given with --call, and, for
/// read-only tools, the answers to calls with their own examples. These calls are checked, rate-limited, approved and
/// recorded like any other, except that a missing contract does not block them.
///
/// Review and edit a draft before you commit it. It declares only what the samples show, and lists missing samples.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch learn files
  vouch learn files --tool get_file_info --call 'get_file_info {\"path\": \"README.md\"}' --write")]
pub(crate) struct LearnArgs {
    /// Name of the upstream server
    upstream: String,
    /// Draft only this tool, by its name on the server; may be given several times [default: refused tools]
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    /// Call a tool and use its answer as a sample; may be given several times
    #[arg(long = "call", value_name = "TOOL JSON")]
    calls: Vec<String>,
    /// Write the drafts to the overlay files, `contracts/<server>/<tool>.json`
    #[arg(long)]
    write: bool,
    /// Replace existing overlays
    #[arg(long, requires = "write")]
    force: bool,
    #[command(flatten)]
    format: JsonOutputArgs,
}

/// Call that produces a sample. The tool is named as on its server.
struct SampleCall {
    tool: String,
    arguments: Map<String, Value>,
    /// True if the call was given with `--call`.
    is_requested: bool,
}

pub(crate) fn run_learn(ctx: &CommandContext, args: &LearnArgs) -> Result<ExitStatus> {
    let layer = ConfigLayer::default().with_packs(Vec::new());
    let settings = Arc::new(ctx.app.settings_with(layer)?);
    logging::init_logging_if_requested(ctx)?;
    let calls = args.calls.iter().map(|text| parse_call(text)).collect::<Result<Vec<_>>>()?;
    let names = [args.upstream.clone()];
    let mut options = upstreams::resolve_upstreams(&ctx.app, &settings, &names)?.require_all()?;
    let folder = upstreams::samples_folder(&settings);
    options.samples = Some(folder.clone());
    for upstream in &mut options.upstreams {
        // The tools to learn are those that another mode would refuse for lack of a contract.
        upstream.policy.mode = AdmissionMode::Observe;
    }
    let (admission, failed) = ctx.block_on(async {
        let wanted = |admission: &Admission| check_tool_names(args, &calls, admission);
        sample_calls::make_sample_calls(ctx, &settings, options, &calls, wanted, &args.tools).await
    })?;
    let samples = read_samples(&folder, &args.upstream)?;
    let is_named = |name: &str| {
        args.tools.iter().any(|tool| tool == name) || calls.iter().any(|call| call.tool == name)
    };
    let asked = !args.tools.is_empty() || !calls.is_empty();
    let is_wanted =
        |tool: &&ToolAdmission| is_named(&tool.name) || (!asked && lacks_contract(tool));
    let mut drafts: Vec<LearnDraft> = admission
        .tools
        .iter()
        .filter(is_wanted)
        .map(|tool| {
            let samples = samples.get(&tool.name).cloned().unwrap_or_default();
            LearnDraft::new(&settings, &args.upstream, tool, &samples)
        })
        .collect();
    if args.write {
        for draft in &mut drafts {
            draft.write(&settings, args.force)?;
        }
    }
    print_drafts(ctx, args, &drafts)?;
    Ok(if failed { ExitStatus::Negative } else { ExitStatus::Success })
}

/// Parses `TOOL JSON`, or `TOOL` for a call without arguments.
fn parse_call(text: &str) -> Result<SampleCall> {
    let (tool, json) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), "{}"));
    match serde_json::from_str(json.trim()) {
        Ok(Value::Object(arguments)) => {
            Ok(SampleCall { tool: tool.to_owned(), arguments, is_requested: true })
        }
        _ => Err(Failure::usage("invalid --call: expected a tool name and a JSON object")
            .with_hint("example: --call 'echo {\"message\": \"hi\"}'")),
    }
}

/// Errors if a tool of `--tool` or `--call` does not exist.
fn check_tool_names(args: &LearnArgs, calls: &[SampleCall], admission: &Admission) -> Result {
    let named = args.tools.iter().chain(calls.iter().map(|call| &call.tool));
    let known: Vec<&str> = admission.tools.iter().map(|tool| tool.name.as_str()).collect();
    match named.into_iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Failure::new(format!("{} has no tool `{name}`", args.upstream))
            .with_hint(suggest_name(name, &known, "tools"))
            .with_kind(FailureKind::Negative)),
    }
}

fn print_drafts(ctx: &CommandContext, args: &LearnArgs, drafts: &[LearnDraft]) -> Result {
    let mut out = ctx.ui.stdout();
    if args.format.json {
        let all = Value::Array(drafts.iter().map(LearnDraft::to_json).collect());
        write!(out, "{}", contract::text::to_visible_json(&all))?;
        return Ok(());
    }
    if drafts.is_empty() {
        ctx.ui.print_note("Every tool has a contract. Pass `--tool <TOOL>` to draft one anyway.");
        return Ok(());
    }
    for draft in drafts {
        let samples = match draft.samples {
            0 => "no samples".to_owned(),
            1 => "1 sample".to_owned(),
            count => format!("{count} samples"),
        };
        writeln!(out, "{BOLD}{}{BOLD:#}  ({samples})", one_line(&draft.file))?;
        if draft.samples > 0 {
            write!(out, "{}", draft.to_pretty_json())?;
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
        ctx.ui.print_note("Pass `--write` to write these files.");
    }
    Ok(())
}
