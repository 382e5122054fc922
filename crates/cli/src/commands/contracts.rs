//! `vouch contracts`: prints the tool contracts as a document.

use std::io::Write;

use app::project;
use clap::ValueEnum;
use runtime::transports::openapi;
use runtime::transports::rest::contract_view;
use serde_json::json;

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::Result;

/// Print the contracts as Markdown, JSON or OpenAPI
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch contracts > docs/contracts.md
  vouch contracts --format openapi > openapi.json")]
pub(crate) struct ContractsArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: ContractsFormat,
}

/// Value of `--format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ContractsFormat {
    /// Markdown, with a section for each tool
    #[default]
    Md,
    /// JSON, as returned by GET /v1/tools
    Json,
    /// OpenAPI 3.1 of the REST API
    Openapi,
}

pub(crate) fn run_contracts(ctx: &CommandContext, args: &ContractsArgs) -> Result<ExitStatus> {
    let settings = ctx.app.settings()?;
    let catalog = project::build_catalog(&settings)?;
    match args.format {
        ContractsFormat::Md => {
            write!(ctx.ui.stdout(), "{}", contract::to_markdown(catalog.contracts()))?
        }
        ContractsFormat::Json => {
            let tools: Vec<_> = catalog.contracts().map(contract_view).collect();
            ctx.ui.print_json(&json!({ "tools": tools }))?;
        }
        ContractsFormat::Openapi => {
            let secured = settings.server.token.is_some();
            ctx.ui.print_json(&openapi::build_document(
                &catalog,
                &project::server_info(&settings),
                secured,
            ))?;
        }
    }
    Ok(ExitStatus::Success)
}
