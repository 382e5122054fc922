//! `vouch upstream tools`: what became of each tool of the other servers, and why. Nothing is pinned.

use std::io::Write;
use std::sync::Arc;

use admit::conformance::{Report, ServerId};
use admit::{Judged, Reason, State};
use app::config::{Connection, Sandbox, Settings};
use app::env::Var;
use app::upstreams::draft::{launcher, remedy};
use app::upstreams::place;
use app::upstreams::{self, Look, Survey, catalog_name, shown};
use contract::text::one_line;
use lint::Severity;
use serde_json::{Value, json};

use crate::commands::{Context, Format};
use crate::exit::Exit;
use crate::logging;
use crate::report::Result;
use crate::ui::{BOLD, Table, WARN};

/// A name that fills a terminal hides the rest of its line.
const MAX_NAME: usize = 64;

/// Show each tool of the other servers: ready, refused or quarantined, why, and what to do
///
/// The servers are asked now; nothing is pinned. Exits with 0 if all tools that are allowed run, with 1 if one does not,
/// with 3 if a server could not be asked.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only these servers
    names: Vec<String>,
    /// What is worth knowing of tools that run, too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    format: Format,
    /// Print SARIF, for code scanning
    #[arg(long, conflicts_with = "json")]
    sarif: bool,
}

pub(super) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let settings = Arc::new(ctx.app.settings()?);
    logging::init_if_asked(ctx)?;
    let survey = ctx.block_on(upstreams::survey(&ctx.app, &settings, &args.names, Look::Only))?;
    let mut out = ctx.ui.out();
    if args.format.json {
        let tools: Vec<Value> =
            judged(&survey).map(|(name, tool)| view(&settings, &name, tool.as_ref())).collect();
        write!(out, "{}", contract::text::json(&Value::Array(tools)))?;
    } else if args.sarif {
        write!(out, "{}", contract::text::json(&sarif(&settings, &survey)))?;
    } else {
        print(&mut out, &settings, &survey, args.all)?;
    }
    // A program reads standard output; what is not in there is said beside it.
    for (name, why) in &survey.absent {
        if args.format.json || args.sarif {
            writeln!(
                ctx.ui.err(),
                "{WARN}warning:{WARN:#} {name} could not be asked: {}",
                one_line(why)
            )?;
        }
    }
    advise(ctx, &settings, &survey);
    Ok(exit(&survey))
}

/// What a program said before it failed, and what may have stopped it.
fn advise(ctx: &Context, settings: &Settings, survey: &Survey) {
    for (name, _) in &survey.absent {
        if let Some(said) = survey.last_words.get(name) {
            ctx.ui.note(format_args!("\nthe last that `{name}` said:\n{said}"));
        }
        // One whose secrets are missing was not started.
        let started = survey.gateway.upstreams().iter().any(|one| one.name() == name);
        let upstream = settings.upstreams.iter().find(|one| started && one.name == *name);
        let Some(Connection::Stdio { command, sandbox: Sandbox::Landlock(_), .. }) =
            upstream.map(|one| &one.connection)
        else {
            continue;
        };
        ctx.ui.note(format_args!(
            "\n`{name}` runs under Landlock, which may be what stops it. To grant what it needs, set in its table: {}",
            remedy(launcher(command), ctx.app.environment.get(Var::Home))
        ));
    }
}

/// Every tool of every server that answered.
fn judged(survey: &Survey) -> impl Iterator<Item = (String, Box<Judged>)> {
    survey.gateway.upstreams().iter().flat_map(|upstream| {
        let name = upstream.name().to_owned();
        let admission = upstream.view().admission.clone();
        let tools = admission.map(|admission| admission.tools.clone()).unwrap_or_default();
        tools.into_iter().map(move |tool| (name.clone(), Box::new(tool)))
    })
}

fn exit(survey: &Survey) -> Exit {
    if !survey.absent.is_empty() {
        return Exit::Failed;
    }
    let stopped = judged(survey).any(|(_, tool)| tool.state != State::NotAllowed && !tool.runs());
    let clashes = survey.gateway.catalog().map_or(true, |(_, clashes)| !clashes.is_empty());
    if stopped || clashes { Exit::No } else { Exit::Success }
}

/// Worst first.
fn reasons(tool: &Judged) -> Vec<&Reason> {
    let mut reasons: Vec<_> = tool.reasons.iter().collect();
    reasons.sort_by(|a, b| (a.severity, a.rule).cmp(&(b.severity, b.rule)));
    reasons
}

fn view(settings: &Settings, upstream: &str, tool: &Judged) -> Value {
    let reason = |reason: &Reason| {
        json!({
            "rule": reason.rule,
            "severity": reason.severity,
            "message": reason.message,
            "remedy": reason.remedy,
        })
    };
    let mut view = json!({
        "upstream": upstream,
        "tool": tool.name,
        "name": catalog_name(settings, upstream, &tool.name),
        "state": tool.state.as_str(),
        "observed": tool.observed,
        "reasons": reasons(tool).into_iter().map(reason).collect::<Vec<_>>(),
    });
    if let Some(change) = &tool.change {
        view["change"] = json!(change);
    }
    view
}

/// One log with a run for each server.
fn sarif(settings: &Settings, survey: &Survey) -> Value {
    let mut log = Value::Null;
    for upstream in survey.gateway.upstreams() {
        let view = upstream.view();
        let Some(admission) = &view.admission else { continue };
        let configured = settings.upstreams.iter().find(|one| one.name == upstream.name());
        let target = configured.map(|one| one_line(&place(one))).unwrap_or_default();
        let server = view.server.clone().map_or_else(ServerId::default, |server| ServerId {
            name: server.name,
            version: server.version,
            protocol: server.protocol,
            target: String::new(),
        });
        let report = Report::of_admission(ServerId { target, ..server }, admission);
        let one = report.to_sarif(Some("vouch.toml"));
        match log.pointer_mut("/runs").and_then(Value::as_array_mut) {
            Some(runs) => runs.extend(one["runs"].as_array().cloned().unwrap_or_default()),
            None => log = one,
        }
    }
    match log {
        Value::Null => json!({"version": "2.1.0", "runs": []}),
        log => log,
    }
}

fn print(out: &mut impl Write, settings: &Settings, survey: &Survey, all: bool) -> Result {
    let mut table = Table::new(["UPSTREAM", "TOOL", "STATE", "WHY"]);
    let mut changes = Vec::new();
    for (upstream, tool) in judged(survey) {
        let mut cells = [upstream.clone(), name(&tool), state(&tool)];
        let shown = reasons(&tool).into_iter().filter(|reason| all || tells(reason, &tool));
        let mut any = false;
        for reason in shown {
            let [first, second, third] = std::mem::take(&mut cells);
            let why = format!("{} {}", reason.rule, reason.message);
            table.row([first, second, third, why]);
            table.row([
                String::new(),
                String::new(),
                String::new(),
                format!("→ {}", reason.remedy),
            ]);
            any = true;
        }
        if !any {
            let [first, second, third] = cells;
            table.row([first, second, third, String::new()]);
        }
        if let Some(change) = tool.change.as_ref().filter(|_| tool.state == State::Quarantined) {
            changes.push((upstream, name(&tool), change.clone()));
        }
    }
    for (upstream, why) in &survey.absent {
        table.row([upstream.clone(), "-".to_owned(), "unreachable".to_owned(), one_line(why)]);
    }
    table.print(out)?;
    for (upstream, tool, change) in changes {
        writeln!(
            out,
            "\n{BOLD}{upstream}/{tool}{BOLD:#} is not what was admitted ({}):",
            change.summary()
        )?;
        for line in change.diff.lines() {
            writeln!(out, "  {line}")?;
        }
        writeln!(out, "  to let it in: vouch accept {upstream} {tool}")?;
    }
    more(out, settings, survey)
}

/// What concerns no single tool.
fn more(out: &mut impl Write, settings: &Settings, survey: &Survey) -> Result {
    for upstream in survey.gateway.upstreams() {
        let view = upstream.view();
        let unused = view.admission.iter().flat_map(|admission| &admission.unused_overlays);
        for tool in unused {
            let (contracts, name) = (shown(settings, &settings.gateway.contracts), upstream.name());
            let file = one_line(&format!("{contracts}/{name}/{tool}.json"));
            writeln!(
                out,
                "\n{WARN}unused:{WARN:#} {file} is for a tool that {name} does not offer"
            )?;
        }
    }
    for clash in survey.gateway.catalog().map(|(_, clashes)| clashes).unwrap_or_default() {
        writeln!(out, "\n{WARN}not offered:{WARN:#} {clash}")?;
    }
    Ok(())
}

/// What decided, or would have.
fn tells(reason: &Reason, tool: &Judged) -> bool {
    match tool.state {
        State::Ready | State::Overlaid => false,
        // The strict policy refuses for warnings.
        State::Refused | State::Quarantined => {
            let worst = tool.worst().unwrap_or(Severity::Note);
            reason.severity <= worst
        }
        State::NotAllowed => true,
    }
}

fn name(tool: &Judged) -> String {
    let mut short: String = tool.name.chars().take(MAX_NAME).collect();
    if short.len() < tool.name.len() {
        short.push('…');
    }
    one_line(&short)
}

fn state(tool: &Judged) -> String {
    let word = match tool.state {
        State::NotAllowed => "not allowed",
        state => state.as_str(),
    };
    if tool.observed { format!("{word}, observed") } else { word.to_owned() }
}
