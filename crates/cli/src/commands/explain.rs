//! `vouch explain`: explains lint rules, admission rules and error codes.

use std::io::Write;

use admit::{AdmissionRule, admission_rules};
use app::config::nearest_name;
use contract::ErrorCode;
use lint::{LintRule, find_rule, list_rules};
use serde_json::json;

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::report::{Failure, Result};
use crate::ui::{BOLD, TextTable};

/// Explain a lint rule or an error code
///
/// Without an argument, lists all of them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch explain C012
  vouch explain undescribed-property
  vouch explain ACCESS_DENIED")]
pub(crate) struct ExplainArgs {
    /// Rule (C012, undescribed-property) or error code (ACCESS_DENIED)
    what: Option<String>,
    #[command(flatten)]
    format: JsonOutputArgs,
}

pub(crate) fn run_explain(ctx: &CommandContext, args: &ExplainArgs) -> Result<ExitStatus> {
    ctx.app.notify_left_out();
    let Some(what) = &args.what else { return print_list(ctx, args.format.json) };
    if let Some(rule) = find_rule(what) {
        return print_rule(ctx, rule, args.format.json);
    }
    if let Some(rule) = find_admission_rule(what) {
        return print_admission_rule(ctx, rule, args.format.json);
    }
    if let Some(code) = find_code(what) {
        return print_code(ctx, code, args.format.json);
    }
    let known = list_rules().iter().flat_map(|rule| [rule.id, rule.name]);
    let known = known.chain(admission_rules().iter().flat_map(|rule| [rule.id, rule.name]));
    let known = known.chain(ErrorCode::ALL.iter().map(|code| code.as_str()));
    let hint = match nearest_name(what, known) {
        Some(nearest) => format!("did you mean `vouch explain {nearest}`?"),
        None => "run `vouch explain` to list all of them".to_owned(),
    };
    let message = format!("unknown rule or error code \"{what}\"");
    Err(Failure::usage(message).with_hint(hint))
}

fn find_admission_rule(text: &str) -> Option<&'static AdmissionRule> {
    let is_it = |rule: &&AdmissionRule| {
        rule.id.eq_ignore_ascii_case(text) || rule.name.eq_ignore_ascii_case(text)
    };
    admission_rules().iter().find(is_it)
}

fn print_admission_rule(
    ctx: &CommandContext,
    rule: &AdmissionRule,
    json: bool,
) -> Result<ExitStatus> {
    if json {
        ctx.ui.print_json(rule)?;
    } else {
        let AdmissionRule { id, name, severity, summary } = rule;
        let mut out = ctx.ui.stdout();
        writeln!(out, "{BOLD}{id} {name}{BOLD:#} ({severity}): {summary}\n")?;
        writeln!(
            out,
            "This rule applies to tools of upstream servers, when they are admitted. Run `vouch upstream tools` to see the \
             findings for each tool and their remedies."
        )?;
    }
    Ok(ExitStatus::Success)
}

/// Returns the error code of that name, ignoring case and with `-` for `_`.
fn find_code(text: &str) -> Option<ErrorCode> {
    let text = text.replace('-', "_");
    ErrorCode::ALL.into_iter().find(|code| code.as_str().eq_ignore_ascii_case(&text))
}

fn print_list(ctx: &CommandContext, json: bool) -> Result<ExitStatus> {
    if json {
        ctx.ui.print_json(&json!({"rules": list_rules(), "admission": admission_rules(), "codes": ErrorCode::ALL.map(code_to_json)}))?;
        return Ok(ExitStatus::Success);
    }
    let mut table = TextTable::new(["RULE", "SEVERITY", "NAME", "MEANING"]);
    for rule in list_rules() {
        let (name, summary) = (rule.name.to_owned(), rule.summary.to_owned());
        table.add_row([rule.id.to_owned(), rule.severity.to_string(), name, summary]);
    }
    for rule in admission_rules() {
        let (name, summary) = (rule.name.to_owned(), rule.summary.to_owned());
        table.add_row([rule.id.to_owned(), rule.severity.to_string(), name, summary]);
    }
    let mut out = ctx.ui.stdout();
    table.write_to(&mut out)?;
    let mut table = TextTable::new(["ERROR CODE", "STATUS", "MEANING"]);
    for code in ErrorCode::ALL {
        table.add_row([
            code.to_string(),
            code.http_status().to_string(),
            code.meaning().to_owned(),
        ]);
    }
    writeln!(out)?;
    table.write_to(&mut out)?;
    Ok(ExitStatus::Success)
}

fn print_rule(ctx: &CommandContext, rule: &LintRule, json: bool) -> Result<ExitStatus> {
    if json {
        ctx.ui.print_json(rule)?;
    } else {
        let LintRule { id, name, severity, summary, explanation } = rule;
        let mut out = ctx.ui.stdout();
        writeln!(out, "{BOLD}{id} {name}{BOLD:#} ({severity}): {summary}\n")?;
        writeln!(out, "{}", explanation.trim_end())?;
    }
    Ok(ExitStatus::Success)
}

fn print_code(ctx: &CommandContext, code: ErrorCode, json: bool) -> Result<ExitStatus> {
    if json {
        ctx.ui.print_json(&code_to_json(code))?;
    } else {
        let (status, meaning, advice) = (code.http_status(), code.meaning(), code_advice(code));
        let mut out = ctx.ui.stdout();
        writeln!(out, "{BOLD}{code}{BOLD:#} (HTTP status {status}): {meaning}\n\n{advice}")?;
    }
    Ok(ExitStatus::Success)
}

fn code_to_json(code: ErrorCode) -> serde_json::Value {
    json!({
        "code": code,
        "status": code.http_status(),
        "meaning": code.meaning(),
        "advice": code_advice(code),
    })
}

/// Returns the advice for a caller that gets this code.
fn code_advice(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::InvalidInput => {
            "The message names the field and the rule. Run `vouch tools <name>` to see the tool's parameters."
        }
        ErrorCode::Unauthenticated => {
            "Send `Authorization: Bearer <token>` with a token from the server's token file or VOUCH_TOKEN."
        }
        ErrorCode::AccessDenied => {
            "The path, the content or the header is blocked, whether or not the path exists. The details contain the \
             pattern. Allow Host and Origin headers with `server.allowed_hosts` and `server.allowed_origins` in \
             vouch.toml."
        }
        ErrorCode::ApprovalRequired => {
            "Ask a person to run `vouch approvals list` and `vouch approvals approve <id>`, then repeat the call with \
             the same arguments. An approval is valid only for these arguments and for one call, and it expires."
        }
        ErrorCode::ApprovalDenied => {
            "A person or the policy in vouch.toml denied the call. Do not repeat it."
        }
        ErrorCode::ToolNotFound => "Run `vouch tools` to list the available tools.",
        ErrorCode::NotFound => "Check the name. Paths are relative to the served folder.",
        ErrorCode::TooLarge => {
            "The details contain the limit and the size. Request less, or raise the limit of results with \
             `[tools.<name>] max_output_bytes` in vouch.toml."
        }
        ErrorCode::ToolFailed => {
            "The call was made, and the tool reported a failure. Its response is in the details (`content`)."
        }
        ErrorCode::RateLimited => {
            "Wait for `retryAfterMs`, then repeat the call. Set the limit with `[tools.<name>] rate_per_minute`."
        }
        ErrorCode::Cancelled => "No action needed: the caller cancelled the call or disconnected.",
        ErrorCode::InternalError => {
            "The server failed; the call is not at fault. The cause is in the server's log on standard error. Run \
             `vouch doctor` to check the server's dependencies."
        }
        ErrorCode::ContractViolation => {
            "The upstream server's tool broke its contract, and its answer is withheld. Run `vouch calls show <callId>` \
             to see it."
        }
        ErrorCode::UpstreamUnavailable => {
            "Check that the upstream server is running, then repeat the call."
        }
        ErrorCode::StorageUnavailable => {
            "The server cannot write to its disk, so it refuses changes. Free some space, or see its log for the cause; \
             then repeat the call."
        }
        ErrorCode::ExecutionTimeout => {
            "The call was cancelled. Request less, or raise `[tools.<name>] timeout_ms` in vouch.toml."
        }
    }
}
