//! `vouch calls`: the answers that broke their contract. No caller ever saw them; people may.

use std::io::Write;

use app::project;
use clap::Subcommand;
use contract::text::{one_line, visible};
use serde_json::Value;
use store::{KeptAnswer, RawAnswer, Store, StoreError};

use crate::commands::{Context, Format};
use crate::exit::Exit;
use crate::report::{Failure, FailureKind, Result};
use crate::ui::{self, BOLD, Table};

/// Look at answers that broke their contract and were withheld
///
/// What a server answered in breach of its contract reaches no client and no model. It is kept here for a while, so that
/// a person can see what is wrong with the server or with the contract.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch calls list
  vouch calls show f8sds88dx0
  vouch calls show f8sds88dx0 --raw > answer.json")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List them, newest first
    List {
        /// How many
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
        #[command(flatten)]
        format: Format,
    },
    /// Show one with the answer as it came
    Show {
        /// Its id, or the beginning of it
        id: String,
        /// The answer alone, byte for byte; not to a terminal, which it might command
        #[arg(long, conflicts_with = "json")]
        raw: bool,
        #[command(flatten)]
        format: Format,
    },
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let settings = ctx.app.settings()?;
    // Looking must not make a state folder.
    let store = match settings.state_folder.join("vouch.db").exists() {
        true => Some(project::store(&settings)?.1),
        false => None,
    };
    let done = ctx.block_on(async {
        match &args.action {
            Action::List { limit, format } => {
                let answers = match &store {
                    Some(store) => store.kept_answers(*limit).await?,
                    None => Vec::new(),
                };
                list(ctx, &answers, format.json)
            }
            Action::Show { id, raw, format } => {
                let missing = || StoreError::UnknownAnswer { id: id.clone() };
                let store = store.as_ref().ok_or_else(missing)?;
                show(ctx, &store.kept_answer(id).await?, *raw, format.json)
            }
        }
    });
    done.map_err(|failure| match failure.find::<StoreError>() {
        Some(StoreError::UnknownAnswer { .. } | StoreError::AmbiguousAnswer { .. }) => {
            failure.with_hint("which there are: vouch calls list").with_kind(FailureKind::Negative)
        }
        _ => failure,
    })
}

fn list(ctx: &Context, answers: &[KeptAnswer], json: bool) -> Result<Exit> {
    if json {
        ctx.ui.json(&answers)?;
        return Ok(Exit::Success);
    }
    if answers.is_empty() {
        ctx.ui.note("No answer was withheld.");
        return Ok(Exit::Success);
    }
    let mut table = Table::new(["ID", "TIME", "TOOL", "CALLER", "BYTES", "BROKEN RULE"]);
    for answer in answers {
        table.row([
            answer.id.clone(),
            format!("{:.0}", answer.kept_at),
            one_line(&answer.tool),
            one_line(&answer.principal),
            answer.bytes.to_string(),
            one_line(&answer.violation),
        ]);
    }
    table.print(&mut ctx.ui.out())?;
    ctx.ui.note("\nsee one: vouch calls show <id>");
    Ok(Exit::Success)
}

fn show(ctx: &Context, kept: &RawAnswer, raw: bool, json: bool) -> Result<Exit> {
    let RawAnswer { answer, raw: text } = kept;
    let mut out = ctx.ui.out();
    if raw {
        if ui::out_is_terminal() {
            return Err(Failure::usage(
                "what a stranger's server answered is not put on a terminal as it is",
            )
            .with_hint(format!("into a file: vouch calls show {} --raw > answer", answer.id)));
        }
        std::io::stdout().write_all(text.as_bytes())?;
    } else if json {
        let value = serde_json::to_value(kept)?;
        write!(out, "{}", contract::text::json(&value))?;
    } else {
        writeln!(out, "{BOLD}{}{BOLD:#}  {:.0}", answer.id, answer.kept_at)?;
        writeln!(out, "tool      {}", one_line(&answer.tool))?;
        writeln!(out, "caller    {}", one_line(&answer.principal))?;
        writeln!(out, "broke     {}", one_line(&answer.violation))?;
        writeln!(out, "contract  {}", one_line(&answer.contract_digest))?;
        writeln!(out, "arguments {}", one_line(&answer.arguments_digest))?;
        let cut = if answer.is_cut { ", of which the beginning is kept" } else { "" };
        writeln!(out, "answer    {} bytes{cut}\n", answer.bytes)?;
        // The bar shows where the answer begins and ends, so that it cannot pose as our own words.
        let shown = match serde_json::from_str::<Value>(text) {
            Ok(value) => contract::text::json(&value),
            Err(_) => visible(text),
        };
        for line in shown.trim_end().split('\n') {
            writeln!(out, "│ {line}")?;
        }
    }
    Ok(Exit::Success)
}
