//! `vouch contracts`: the contracts as a document.

use std::io::Write;

use app::project;
use clap::ValueEnum;
use runtime::doors::openapi;
use runtime::doors::rest::contract_view;
use serde_json::json;

use crate::commands::Context;
use crate::exit::Exit;
use crate::report::Result;

/// Print the contracts as Markdown, JSON or OpenAPI
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch contracts > docs/contracts.md
  vouch contracts --format openapi > openapi.json")]
pub(crate) struct Args {
    /// In which form
    #[arg(long, value_enum, default_value_t)]
    format: Form,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Markdown, a section for each tool
    #[default]
    Md,
    /// As GET /v1/tools answers
    Json,
    /// OpenAPI 3.1 of the REST door
    Openapi,
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let settings = ctx.app.settings()?;
    let catalog = project::catalog(&settings)?;
    match args.format {
        Form::Md => write!(ctx.ui.out(), "{}", contract::to_markdown(catalog.contracts()))?,
        Form::Json => {
            let tools: Vec<_> = catalog.contracts().map(contract_view).collect();
            ctx.ui.json(&json!({ "tools": tools }))?;
        }
        Form::Openapi => {
            let secured = settings.server.token.is_some();
            ctx.ui.json(&openapi::document(&catalog, &project::face(&settings), secured))?;
        }
    }
    Ok(Exit::Success)
}
