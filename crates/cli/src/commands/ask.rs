//! `vouch ask`: answers a query with at most one tool call whose result keeps its contract.
//!
//! The gates are in `host`. This module sets up the session, runs the interactive prompt and prints the result.

mod interactive;
mod json;
mod outcome;
mod print;
mod session;

use std::sync::Arc;

use app::ask::{PlannerChoice, select_planner};
use clap::ValueEnum;

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::logging::{self, LogFormat};
use crate::report::{Failure, Result};
use crate::ui;
use session::AskSession;

/// Answer a question with a single tool call
///
/// The available tools are those of this project (server `vouch`) and of the servers in vouch.toml. A planner chooses a
/// tool and its arguments. The call is checked, rate-limited, approved and recorded like any other. An answer that
/// breaks its contract is shown only on a terminal, and never to a model.
///
/// The planner is the model set in `[ask]` of vouch.toml or in LLM_BASE_URL and LLM_MODEL. Without a model, the
/// embedded planner is used. It asks for details instead of guessing: name the tool, quote strings, and write
/// name=value.
///
/// Without a question, opens an interactive prompt that makes one call for each line.
///
/// Exits with 0 if there is an answer, 1 if the query was refused, the answer was withheld, or more information is
/// needed, 3 if the planner or a server failed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch ask \"read the file README.md\"
  vouch ask \"grep_codebase pattern='fn main'\" --summarize
  vouch ask \"read_repo_file path=README.md\" --json
  vouch ask
  vouch trace show")]
pub(crate) struct AskArgs {
    /// Question to answer
    query: Option<String>,

    /// Summarize the answer, quoting it for each statement
    #[arg(long, short)]
    summarize: bool,

    /// Planner that chooses the tool [default: the model, if one is configured]
    #[arg(long, value_name = "PLANNER", value_enum)]
    planner: Option<PlannerArg>,

    /// Print JSON, one object per question
    #[arg(long)]
    json: bool,
}

/// Value of `--planner`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PlannerArg {
    /// The embedded planner, which needs no model
    Embedded,
    /// The configured model
    Model,
}

impl From<PlannerArg> for PlannerChoice {
    fn from(choice: PlannerArg) -> Self {
        match choice {
            PlannerArg::Embedded => Self::Embedded,
            PlannerArg::Model => Self::Model,
        }
    }
}

pub(crate) fn run_ask(ctx: &CommandContext, args: &AskArgs) -> Result<ExitStatus> {
    let settings = Arc::new(ctx.app.settings()?);
    let planner = select_planner(&settings, args.planner.map(PlannerChoice::from))?;
    let is_prompt = args.query.is_none();
    if is_prompt && !ui::is_interactive() {
        return Err(Failure::usage("no query given, and stdin is not a terminal")
            .with_hint("pass a query: vouch ask \"read the file README.md\""));
    }
    logging::init_logging(ctx, LogFormat::Text, None)?;
    // The connections to servers must make progress while the prompt blocks.
    ctx.block_on_threads(async {
        let session = AskSession::open(ctx, &settings, planner, args.summarize).await?;
        let exit = match &args.query {
            Some(query) => session.answer_query(query, args.json).await,
            None => interactive::run_prompt(&session, args.json).await,
        };
        session.close().await;
        exit
    })
}
