//! `vouch upstream tools`: prints the admission state of each upstream tool, with the reasons. Pins nothing.

use std::io::Write;
use std::sync::Arc;

use admit::conformance::{ConformanceReport, ServerId};
use admit::{AdmissionReason, ToolAdmission, ToolStatus};
use app::config::{SandboxConfig, Settings, UpstreamConnection};
use app::env::EnvVar;
use app::upstreams::display_location;
use app::upstreams::draft::{detect_launcher, suggest_sandbox};
use app::upstreams::{self, SurveyMode, UpstreamSurvey, catalog_name, display_path};
use contract::text::one_line;
use lint::Severity;
use serde_json::{Value, json};

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::logging;
use crate::report::Result;
use crate::ui::{BOLD, TextTable, WARN};

/// Maximum characters of a printed tool name, so that a long name cannot push the rest of its line off the screen.
const MAX_NAME: usize = 64;

/// Show the state of each upstream tool, with reasons and remedies
///
/// Starts the servers and lists their tools; pins nothing. A tool is ready, overlaid, refused, quarantined or not
/// allowed. Exits with 0 if all allowed tools are usable, 1 if one is not, 3 if a server could not be listed.
#[derive(Debug, clap::Args)]
pub(super) struct UpstreamToolsArgs {
    /// Show only these servers
    names: Vec<String>,
    /// Include the findings of usable tools
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    format: JsonOutputArgs,
    /// Print SARIF, for code scanning
    #[arg(long, conflicts_with = "json")]
    sarif: bool,
}

pub(super) fn run_upstream_tools(
    ctx: &CommandContext,
    args: &UpstreamToolsArgs,
) -> Result<ExitStatus> {
    let settings = Arc::new(ctx.app.settings()?);
    logging::init_logging_if_requested(ctx)?;
    let survey = ctx.block_on(upstreams::survey_upstreams(
        &ctx.app,
        &settings,
        &args.names,
        SurveyMode::Inspect,
    ))?;
    let mut out = ctx.ui.stdout();
    if args.format.json {
        let tools: Vec<Value> = judged_tools(&survey)
            .map(|(name, tool)| tool_to_json(&settings, &name, tool.as_ref()))
            .collect();
        write!(out, "{}", contract::text::to_visible_json(&Value::Array(tools)))?;
    } else if args.sarif {
        write!(out, "{}", contract::text::to_visible_json(&to_sarif(&settings, &survey)))?;
    } else {
        print_tools(&mut out, &settings, &survey, args.all)?;
    }
    // JSON and SARIF contain only listed servers; the others are reported on standard error.
    for (name, why) in &survey.absent {
        if args.format.json || args.sarif {
            writeln!(
                ctx.ui.stderr(),
                "{WARN}warning:{WARN:#} failed to list the tools of {name}: {}",
                one_line(why)
            )?;
        }
    }
    print_advice(ctx, &settings, &survey);
    Ok(exit_status(&survey))
}

/// Prints the last output of each failed server, and how to relax its sandbox.
fn print_advice(ctx: &CommandContext, settings: &Settings, survey: &UpstreamSurvey) {
    for (name, _) in &survey.absent {
        if let Some(output) = survey.stderr_tails.get(name) {
            ctx.ui.print_note(format_args!("\nlast output of `{name}`:\n{output}"));
        }
        // A server with missing secrets was not started.
        let started = survey.gateway.upstreams().iter().any(|one| one.name() == name);
        let upstream = settings.upstreams.iter().find(|one| started && one.name == *name);
        let Some(UpstreamConnection::Stdio { command, sandbox, .. }) =
            upstream.map(|one| &one.connection)
        else {
            continue;
        };
        if *sandbox == SandboxConfig::Off {
            continue;
        }
        ctx.ui.print_note(format_args!(
            "\n`{name}` runs in a sandbox, which may be the cause. To grant access, set in its table: {}",
            suggest_sandbox(detect_launcher(command), ctx.app.environment.get(EnvVar::Home))
        ));
    }
}

/// Returns the tools of all servers that were listed, each with the name of its server.
fn judged_tools(survey: &UpstreamSurvey) -> impl Iterator<Item = (String, Box<ToolAdmission>)> {
    survey.gateway.upstreams().iter().flat_map(|upstream| {
        let name = upstream.name().to_owned();
        let admission = upstream.snapshot().admission.clone();
        let tools = admission.map(|admission| admission.tools.clone()).unwrap_or_default();
        tools.into_iter().map(move |tool| (name.clone(), Box::new(tool)))
    })
}

fn exit_status(survey: &UpstreamSurvey) -> ExitStatus {
    if !survey.absent.is_empty() {
        return ExitStatus::Failed;
    }
    let stopped = judged_tools(survey)
        .any(|(_, tool)| tool.state != ToolStatus::NotAllowed && !tool.can_run());
    let clashes = survey.gateway.build_catalog().map_or(true, |(_, clashes)| !clashes.is_empty());
    if stopped || clashes { ExitStatus::Negative } else { ExitStatus::Success }
}

/// Returns the reasons of a tool, most severe first.
fn sorted_reasons(tool: &ToolAdmission) -> Vec<&AdmissionReason> {
    let mut reasons: Vec<_> = tool.reasons.iter().collect();
    reasons.sort_by(|a, b| (a.severity, a.rule).cmp(&(b.severity, b.rule)));
    reasons
}

fn tool_to_json(settings: &Settings, upstream: &str, tool: &ToolAdmission) -> Value {
    let reason = |reason: &AdmissionReason| {
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
        "reasons": sorted_reasons(tool).into_iter().map(reason).collect::<Vec<_>>(),
    });
    if let Some(change) = &tool.change {
        view["change"] = json!(change);
    }
    view
}

/// Returns a SARIF log with one run per server.
fn to_sarif(settings: &Settings, survey: &UpstreamSurvey) -> Value {
    let mut log = Value::Null;
    for upstream in survey.gateway.upstreams() {
        let view = upstream.snapshot();
        let Some(admission) = &view.admission else { continue };
        let configured = settings.upstreams.iter().find(|one| one.name == upstream.name());
        let target = configured.map(|one| one_line(&display_location(one))).unwrap_or_default();
        let server = view.server.clone().map_or_else(ServerId::default, |server| ServerId {
            name: server.name,
            version: server.version,
            protocol: server.protocol,
            target: String::new(),
        });
        let report = ConformanceReport::from_admission(ServerId { target, ..server }, admission);
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

fn print_tools(
    out: &mut impl Write,
    settings: &Settings,
    survey: &UpstreamSurvey,
    all: bool,
) -> Result {
    let mut table = TextTable::new(["UPSTREAM", "TOOL", "STATE", "REASON"]);
    let mut changes = Vec::new();
    for (upstream, tool) in judged_tools(survey) {
        let mut cells = [upstream.clone(), short_name(&tool), state_label(&tool)];
        let shown =
            sorted_reasons(&tool).into_iter().filter(|reason| all || is_decisive(reason, &tool));
        let mut any = false;
        for reason in shown {
            let [first, second, third] = std::mem::take(&mut cells);
            let why = format!("{} {}", reason.rule, reason.message);
            table.add_row([first, second, third, why]);
            table.add_row([
                String::new(),
                String::new(),
                String::new(),
                format!("→ {}", reason.remedy),
            ]);
            any = true;
        }
        if !any {
            let [first, second, third] = cells;
            table.add_row([first, second, third, String::new()]);
        }
        if let Some(change) = tool.change.as_ref().filter(|_| tool.state == ToolStatus::Quarantined)
        {
            changes.push((upstream, short_name(&tool), change.clone()));
        }
    }
    for (upstream, why) in &survey.absent {
        table.add_row([upstream.clone(), "-".to_owned(), "unreachable".to_owned(), one_line(why)]);
    }
    table.write_to(out)?;
    for (upstream, tool, change) in changes {
        writeln!(
            out,
            "\n{BOLD}{upstream}/{tool}{BOLD:#} differs from its pin ({}):",
            change.summary()
        )?;
        for line in change.diff.lines() {
            writeln!(out, "  {line}")?;
        }
        writeln!(out, "  to accept it, run `vouch accept {upstream} {tool}`")?;
    }
    print_remarks(out, settings, survey)
}

/// Prints unused overlays and name clashes.
fn print_remarks(out: &mut impl Write, settings: &Settings, survey: &UpstreamSurvey) -> Result {
    for upstream in survey.gateway.upstreams() {
        let view = upstream.snapshot();
        let unused = view.admission.iter().flat_map(|admission| &admission.unused_overlays);
        for tool in unused {
            let (contracts, name) =
                (display_path(settings, &settings.gateway.contracts), upstream.name());
            let file = one_line(&format!("{contracts}/{name}/{tool}.json"));
            writeln!(
                out,
                "\n{WARN}unused:{WARN:#} {file} is for a tool that {name} does not provide"
            )?;
        }
    }
    for clash in survey.gateway.build_catalog().map(|(_, clashes)| clashes).unwrap_or_default() {
        writeln!(out, "\n{WARN}not served:{WARN:#} {clash}")?;
    }
    Ok(())
}

/// Returns true if the reason contributed to the tool's state.
fn is_decisive(reason: &AdmissionReason, tool: &ToolAdmission) -> bool {
    match tool.state {
        ToolStatus::Ready | ToolStatus::Overlaid => false,
        // With the strict policy, warnings are decisive too.
        ToolStatus::Refused | ToolStatus::Quarantined => {
            let worst = tool.worst_severity().unwrap_or(Severity::Note);
            reason.severity <= worst
        }
        ToolStatus::NotAllowed => true,
    }
}

/// Returns the name of a tool, shortened and escaped.
fn short_name(tool: &ToolAdmission) -> String {
    let mut short: String = tool.name.chars().take(MAX_NAME).collect();
    if short.len() < tool.name.len() {
        short.push('…');
    }
    one_line(&short)
}

fn state_label(tool: &ToolAdmission) -> String {
    let word = match tool.state {
        ToolStatus::NotAllowed => "not allowed",
        state => state.as_str(),
    };
    if tool.observed { format!("{word}, observed") } else { word.to_owned() }
}
