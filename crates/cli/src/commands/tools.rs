//! `vouch tools`: lists the tools of this project, or shows the contract of one.

use std::io::Write;
use std::sync::Arc;

use app::config::suggest_name;
use app::project;
use app::upstreams;
use contract::Contract;
use contract::text::one_line;
use runtime::transports::rest::contract_view;
use serde_json::json;

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::report::{Failure, FailureKind, Result};
use crate::ui::TextTable;

/// List the tools, or show one in detail
#[derive(Debug, clap::Args)]
pub(crate) struct ToolsArgs {
    /// Show only this tool, with its parameters
    name: Option<String>,
    #[command(flatten)]
    format: JsonOutputArgs,
}

pub(crate) fn run_tools(ctx: &CommandContext, args: &ToolsArgs) -> Result<ExitStatus> {
    let settings = Arc::new(ctx.app.settings()?);
    let catalog = match args.name.as_deref().filter(|name| settings.upstream_of(name).is_some()) {
        None => Arc::new(project::build_catalog(&settings)?),
        Some(name) => ctx.block_on(async {
            let (gateway, pipeline) =
                upstreams::connect_tool_upstream(&ctx.app, &settings, name).await?;
            gateway.close().await;
            Ok(pipeline.catalog())
        })?,
    };
    if let Some(name) = &args.name {
        let Some(entry) = catalog.get(name) else {
            return Err(unknown_tool(name, catalog.names()));
        };
        if args.format.json {
            ctx.ui.print_json(&contract_view(&entry.contract))?;
        } else {
            let text = contract::to_markdown([&*entry.contract]);
            write!(ctx.ui.stdout(), "{}", contract::text::escape_hidden(&text))?;
        }
        return Ok(ExitStatus::Success);
    }
    if args.format.json {
        let tools: Vec<_> = catalog.contracts().map(contract_view).collect();
        ctx.ui.print_json(&json!({ "tools": tools }))?;
        return Ok(ExitStatus::Success);
    }
    let mut table = TextTable::new(["TOOL", "CALLS/MIN", "TIMEOUT", "APPROVAL", "DESCRIPTION"]);
    for contract in catalog.contracts() {
        let limits = &contract.constraints;
        table.add_row([
            contract.name.clone(),
            limits.rate_per_minute.to_string(),
            format!("{} ms", limits.timeout.as_millis()),
            if limits.approval { "yes" } else { "no" }.to_owned(),
            tool_title(contract),
        ]);
    }
    table.write_to(&mut ctx.ui.stdout())?;
    if settings.upstreams.iter().any(|upstream| upstream.enabled) {
        ctx.ui.print_note("\nRun `vouch upstream tools` to list the tools of upstream servers.");
    }
    Ok(ExitStatus::Success)
}

/// Returns the title of a tool on one line, or its description if it has no title.
pub(crate) fn tool_title(contract: &Contract) -> String {
    one_line(contract.title.as_deref().unwrap_or(&contract.description))
}

/// Returns the failure for an unknown tool, with a suggestion from `known`.
pub(crate) fn unknown_tool<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let known: Vec<_> = known.collect();
    Failure::new(format!("unknown tool `{name}`"))
        .with_hint(suggest_name(name, &known, "tools"))
        .with_kind(FailureKind::Negative)
}
