//! `vouch ask`: one query, at most one tool call, only kept contracts. The gates are `host`'s; here is the desk they
//! stand at, and the person in front of it.

mod desk;
mod interactive;
mod json;
mod outcome;
mod print;

use std::sync::Arc;

use app::ask::{PlannerChoice, choose};
use clap::ValueEnum;

use crate::commands::Context;
use crate::exit::Exit;
use crate::logging::{self, LogFormat};
use crate::report::{Failure, Result};
use crate::ui;
use desk::Office;

/// Answer a question with one call of one tool
///
/// The tools are those of this folder (as the server `vouch`) and of the servers in vouch.toml. A planner chooses one and
/// its arguments; then the call is checked, limited, approved and recorded as any other. An answer that breaks its
/// contract is shown to you, if you are at a terminal, and to no model.
///
/// The planner is the model of `[ask]` in vouch.toml or of LLM_BASE_URL and LLM_MODEL; without one it is in this program,
/// and asks back rather than guess: name the tool, quote texts, write name=value.
///
/// Without a question it opens a prompt, one call for each line.
///
/// Exits with 0 if there is an answer, 1 if there is none (refused, withheld, or more must be known), 3 if something
/// broke down on the way.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch ask \"read the file README.md\"
  vouch ask \"grep_codebase pattern='fn main'\" --summarize
  vouch ask \"read_repo_file path=README.md\" --json
  vouch ask
  vouch trace show")]
pub(crate) struct Args {
    /// What you want to know
    query: Option<String>,

    /// Summarise the answer, with a quote from it for each statement
    #[arg(long, short)]
    summarize: bool,

    /// Who chooses the tool [default: the model, if one is configured]
    #[arg(long, value_name = "PLANNER", value_enum)]
    planner: Option<Choice>,

    /// Print JSON, one object for each question
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// The one in this program
    Embedded,
    /// The model that is configured
    Model,
}

impl From<Choice> for PlannerChoice {
    fn from(choice: Choice) -> Self {
        match choice {
            Choice::Embedded => Self::Embedded,
            Choice::Model => Self::Model,
        }
    }
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let settings = Arc::new(ctx.app.settings()?);
    let planner = choose(&settings, args.planner.map(PlannerChoice::from))?;
    let is_prompt = args.query.is_none();
    if is_prompt && !ui::is_interactive() {
        return Err(Failure::usage("there is no question, and nobody at a terminal to type one")
            .with_hint("vouch ask \"read the file README.md\""));
    }
    logging::init(ctx, LogFormat::Text, None)?;
    // Connections go on while a person thinks about the next line.
    ctx.block_on_threads(async {
        let office = Office::open(ctx, &settings, planner, args.summarize).await?;
        let done = match &args.query {
            Some(query) => office.answer(query, args.json).await,
            None => interactive::run(&office, args.json).await,
        };
        office.close().await;
        done
    })
}
