//! `vouch calls`: lists and shows withheld answers, which no caller has seen.

use std::io::Write;

use app::project;
use clap::Subcommand;
use contract::text::{escape_hidden, one_line};
use serde_json::Value;
use store::{RawWithheldAnswer, Store, StoreError, WithheldAnswer};

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::report::{Failure, FailureKind, Result};
use crate::ui::{self, BOLD, TextTable};

/// Inspect withheld answers, which broke their contract
///
/// An upstream answer that breaks its contract is not returned to any client or model. It is kept for a while, so that
/// you can find out whether the server or the contract is wrong.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch calls list
  vouch calls show f8sds88dx0
  vouch calls show f8sds88dx0 --raw > answer.json")]
pub(crate) struct CallsArgs {
    #[command(subcommand)]
    action: CallsCommand,
}

#[derive(Debug, Subcommand)]
enum CallsCommand {
    /// List withheld answers, newest first
    List {
        /// Maximum number of answers to list
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
        #[command(flatten)]
        format: JsonOutputArgs,
    },
    /// Show a withheld answer in full
    Show {
        /// ID of the answer, or a unique prefix of it
        id: String,
        /// Print the unmodified answer only; not allowed on a terminal, because it may contain control sequences
        #[arg(long, conflicts_with = "json")]
        raw: bool,
        #[command(flatten)]
        format: JsonOutputArgs,
    },
}

pub(crate) fn run_calls(ctx: &CommandContext, args: &CallsArgs) -> Result<ExitStatus> {
    let settings = ctx.app.settings()?;
    // Reading must not create a state folder.
    let store = match settings.state_folder.join("vouch.db").exists() {
        true => Some(project::open_store(&settings)?.1),
        false => None,
    };
    let done = ctx.block_on(async {
        match &args.action {
            CallsCommand::List { limit, format } => {
                let answers = match &store {
                    Some(store) => store.list_withheld_answers(*limit).await?,
                    None => Vec::new(),
                };
                print_answers(ctx, &answers, format.json)
            }
            CallsCommand::Show { id, raw, format } => {
                let missing = || StoreError::UnknownWithheldAnswer { id: id.clone() };
                let store = store.as_ref().ok_or_else(missing)?;
                print_answer(ctx, &store.find_withheld_answer(id).await?, *raw, format.json)
            }
        }
    });
    done.map_err(|failure| match failure.find_cause::<StoreError>() {
        Some(
            StoreError::UnknownWithheldAnswer { .. } | StoreError::AmbiguousWithheldAnswer { .. },
        ) => failure
            .with_hint("run `vouch calls list` to see the ids")
            .with_kind(FailureKind::Negative),
        _ => failure,
    })
}

fn print_answers(
    ctx: &CommandContext,
    answers: &[WithheldAnswer],
    json: bool,
) -> Result<ExitStatus> {
    if json {
        ctx.ui.print_json(&answers)?;
        return Ok(ExitStatus::Success);
    }
    if answers.is_empty() {
        ctx.ui.print_note("No withheld answers.");
        return Ok(ExitStatus::Success);
    }
    let mut table = TextTable::new(["ID", "TIME", "TOOL", "CALLER", "BYTES", "BROKEN RULE"]);
    for answer in answers {
        table.add_row([
            answer.id.clone(),
            format!("{:.0}", answer.kept_at),
            one_line(&answer.tool),
            one_line(&answer.principal),
            answer.bytes.to_string(),
            one_line(&answer.violation),
        ]);
    }
    table.write_to(&mut ctx.ui.stdout())?;
    ctx.ui.print_note("\nRun `vouch calls show <id>` to see an answer.");
    Ok(ExitStatus::Success)
}

fn print_answer(
    ctx: &CommandContext,
    kept: &RawWithheldAnswer,
    raw: bool,
    json: bool,
) -> Result<ExitStatus> {
    let RawWithheldAnswer { answer, raw: text } = kept;
    let mut out = ctx.ui.stdout();
    if raw {
        if ui::is_stdout_terminal() {
            return Err(Failure::usage("refusing to print an unescaped answer to a terminal")
                .with_hint(format!("redirect it: vouch calls show {} --raw > answer", answer.id)));
        }
        std::io::stdout().write_all(text.as_bytes())?;
    } else if json {
        let value = serde_json::to_value(kept)?;
        write!(out, "{}", contract::text::to_visible_json(&value))?;
    } else {
        writeln!(out, "{BOLD}{}{BOLD:#}  {:.0}", answer.id, answer.kept_at)?;
        writeln!(out, "tool      {}", one_line(&answer.tool))?;
        writeln!(out, "caller    {}", one_line(&answer.principal))?;
        writeln!(out, "broke     {}", one_line(&answer.violation))?;
        writeln!(out, "contract  {}", one_line(&answer.contract_digest))?;
        writeln!(out, "arguments {}", one_line(&answer.arguments_digest))?;
        let cut = if answer.is_cut { " (truncated)" } else { "" };
        writeln!(out, "answer    {} bytes{cut}\n", answer.bytes)?;
        // The bar marks every line of the answer, so that it cannot be mistaken for output of vouch.
        let shown = match serde_json::from_str::<Value>(text) {
            Ok(value) => contract::text::to_visible_json(&value),
            Err(_) => escape_hidden(text),
        };
        for line in shown.trim_end().split('\n') {
            writeln!(out, "│ {line}")?;
        }
    }
    Ok(ExitStatus::Success)
}
