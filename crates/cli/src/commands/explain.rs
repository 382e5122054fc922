//! `vouch explain`: what a lint rule or an error code means.

use std::io::Write;

use admit::{AdmissionRule, admission_rules};
use app::config::nearest;
use contract::Code;
use lint::{Rule, rule, rules};
use serde_json::json;

use crate::commands::{Context, Format};
use crate::exit::Exit;
use crate::report::{Failure, Result};
use crate::ui::{BOLD, Table};

/// Explain a lint rule or an error code
///
/// Without an argument all of them are listed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch explain C012
  vouch explain undescribed-property
  vouch explain ACCESS_DENIED")]
pub(crate) struct Args {
    /// A rule (C012, undescribed-property) or an error code (ACCESS_DENIED)
    what: Option<String>,
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let Some(what) = &args.what else { return list(ctx, args.format.json) };
    if let Some(rule) = rule(what) {
        return one_rule(ctx, rule, args.format.json);
    }
    if let Some(rule) = admission_rule(what) {
        return one_admission_rule(ctx, rule, args.format.json);
    }
    if let Some(code) = code(what) {
        return one_code(ctx, code, args.format.json);
    }
    let known = rules().iter().flat_map(|rule| [rule.id, rule.name]);
    let known = known.chain(admission_rules().iter().flat_map(|rule| [rule.id, rule.name]));
    let known = known.chain(Code::ALL.iter().map(|code| code.as_str()));
    let hint = match nearest(what, known) {
        Some(nearest) => format!("did you mean `vouch explain {nearest}`?"),
        None => "all of them: vouch explain".to_owned(),
    };
    let message = format!("`{what}` is neither a lint rule nor an error code");
    Err(Failure::usage(message).with_hint(hint))
}

fn admission_rule(text: &str) -> Option<&'static AdmissionRule> {
    let is_it = |rule: &&AdmissionRule| {
        rule.id.eq_ignore_ascii_case(text) || rule.name.eq_ignore_ascii_case(text)
    };
    admission_rules().iter().find(is_it)
}

fn one_admission_rule(ctx: &Context, rule: &AdmissionRule, json: bool) -> Result<Exit> {
    if json {
        ctx.ui.json(rule)?;
    } else {
        let AdmissionRule { id, name, severity, summary } = rule;
        let mut out = ctx.ui.out();
        writeln!(out, "{BOLD}{id} {name}{BOLD:#} ({severity}): {summary}\n")?;
        writeln!(
            out,
            "A rule for the tools of other servers, found when they are admitted. `vouch upstream tools` shows for each \
             tool what was found and what to do about it."
        )?;
    }
    Ok(Exit::Success)
}

/// In any case, and with `-` for `_`.
fn code(text: &str) -> Option<Code> {
    let text = text.replace('-', "_");
    Code::ALL.into_iter().find(|code| code.as_str().eq_ignore_ascii_case(&text))
}

fn list(ctx: &Context, json: bool) -> Result<Exit> {
    if json {
        ctx.ui.json(&json!({"rules": rules(), "admission": admission_rules(), "codes": Code::ALL.map(describe)}))?;
        return Ok(Exit::Success);
    }
    let mut table = Table::new(["RULE", "SEVERITY", "NAME", "MEANING"]);
    for rule in rules() {
        let (name, summary) = (rule.name.to_owned(), rule.summary.to_owned());
        table.row([rule.id.to_owned(), rule.severity.to_string(), name, summary]);
    }
    for rule in admission_rules() {
        let (name, summary) = (rule.name.to_owned(), rule.summary.to_owned());
        table.row([rule.id.to_owned(), rule.severity.to_string(), name, summary]);
    }
    let mut out = ctx.ui.out();
    table.print(&mut out)?;
    let mut table = Table::new(["ERROR CODE", "STATUS", "MEANING"]);
    for code in Code::ALL {
        table.row([code.to_string(), code.status().to_string(), code.meaning().to_owned()]);
    }
    writeln!(out)?;
    table.print(&mut out)?;
    Ok(Exit::Success)
}

fn one_rule(ctx: &Context, rule: &Rule, json: bool) -> Result<Exit> {
    if json {
        ctx.ui.json(rule)?;
    } else {
        let Rule { id, name, severity, summary, explanation } = rule;
        let mut out = ctx.ui.out();
        writeln!(out, "{BOLD}{id} {name}{BOLD:#} ({severity}): {summary}\n")?;
        writeln!(out, "{}", explanation.trim_end())?;
    }
    Ok(Exit::Success)
}

fn one_code(ctx: &Context, code: Code, json: bool) -> Result<Exit> {
    if json {
        ctx.ui.json(&describe(code))?;
    } else {
        let (status, meaning, advice) = (code.status(), code.meaning(), advice(code));
        let mut out = ctx.ui.out();
        writeln!(out, "{BOLD}{code}{BOLD:#} (HTTP status {status}): {meaning}\n\n{advice}")?;
    }
    Ok(Exit::Success)
}

fn describe(code: Code) -> serde_json::Value {
    json!({
        "code": code,
        "status": code.status(),
        "meaning": code.meaning(),
        "advice": advice(code),
    })
}

/// What whoever meets the code can do.
fn advice(code: Code) -> &'static str {
    match code {
        Code::InvalidInput => {
            "The message names the field and the rule. `vouch tools <name>` shows what the tool takes."
        }
        Code::Unauthenticated => {
            "Send `Authorization: Bearer <token>` with a token of the server's token file or VOUCH_TOKEN."
        }
        Code::AccessDenied => {
            "The path, the content or the header is blocked, whether or not the thing exists. The details name the \
             pattern. Host and Origin headers are allowed with `server.allowed_hosts` and `server.allowed_origins` \
             in vouch.toml."
        }
        Code::ApprovalRequired => {
            "Have a person run `vouch approvals list` and `vouch approvals approve <id>`, then make the very same \
             call again: the approval is for these arguments only, is used once and expires."
        }
        Code::ApprovalDenied => {
            "A person, or the policy in vouch.toml, said no. Do not repeat the call; ask for something else."
        }
        Code::ToolNotFound => "`vouch tools` lists what is offered.",
        Code::NotFound => "Check the name. Paths are relative to the served folder.",
        Code::TooLarge => {
            "The details give the limit and the size. Ask for less. Result limits are set with \
             `[tools.<name>] max_output_bytes`."
        }
        Code::ToolFailed => {
            "The call was made, and the tool answered that it failed. Its own words are in the details (`content`)."
        }
        Code::RateLimited => {
            "Wait `retryAfterMs`, then call again. The limit is set with `[tools.<name>] rate_per_minute`."
        }
        Code::Cancelled => "Nothing to do: whoever called went away before the call was done.",
        Code::InternalError => {
            "A defect of the server, not of the call. Its log on standard error has the cause; `vouch doctor` checks \
             what it depends on."
        }
        Code::ContractViolation => {
            "The upstream server's tool needs mending; its answer is withheld. A person can look at it with \
             `vouch calls show <callId>`."
        }
        Code::UpstreamUnavailable => "Check that the upstream server runs, then call again.",
        Code::ExecutionTimeout => {
            "Ask for less, or raise `[tools.<name>] timeout_ms` in vouch.toml. The work was told to stop."
        }
    }
}
