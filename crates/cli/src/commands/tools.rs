//! `vouch tools`: what is offered here.

use std::io::Write;
use std::sync::Arc;

use app::config::suggest;
use app::project;
use app::upstreams;
use contract::Contract;
use contract::text::one_line;
use runtime::doors::rest::contract_view;
use serde_json::json;

use crate::commands::{Context, Format};
use crate::exit::Exit;
use crate::report::{Failure, FailureKind, Result};
use crate::ui::Table;

/// List the tools, or show one
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show this tool only, with its parameters
    name: Option<String>,
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let settings = Arc::new(ctx.app.settings()?);
    let catalog = match args.name.as_deref().filter(|name| settings.upstream_of(name).is_some()) {
        None => Arc::new(project::catalog(&settings)?),
        Some(name) => ctx.block_on(async {
            let (gateway, pipeline) = upstreams::of_tool(&ctx.app, &settings, name).await?;
            gateway.close().await;
            Ok(pipeline.catalog())
        })?,
    };
    if let Some(name) = &args.name {
        let Some(entry) = catalog.get(name) else { return Err(unknown(name, catalog.names())) };
        if args.format.json {
            ctx.ui.json(&contract_view(&entry.contract))?;
        } else {
            let text = contract::to_markdown([&*entry.contract]);
            write!(ctx.ui.out(), "{}", contract::text::visible(&text))?;
        }
        return Ok(Exit::Success);
    }
    if args.format.json {
        let tools: Vec<_> = catalog.contracts().map(contract_view).collect();
        ctx.ui.json(&json!({ "tools": tools }))?;
        return Ok(Exit::Success);
    }
    let mut table = Table::new(["TOOL", "CALLS/MIN", "TIME LIMIT", "APPROVAL", "WHAT IT DOES"]);
    for contract in catalog.contracts() {
        let limits = &contract.constraints;
        table.row([
            contract.name.clone(),
            limits.rate_per_minute.to_string(),
            format!("{} ms", limits.timeout.as_millis()),
            if limits.approval { "yes" } else { "no" }.to_owned(),
            title(contract),
        ]);
    }
    table.print(&mut ctx.ui.out())?;
    if settings.upstreams.iter().any(|upstream| upstream.enabled) {
        ctx.ui.note("\nthose of other servers: vouch upstream tools");
    }
    Ok(Exit::Success)
}

/// One line about a tool.
pub(crate) fn title(contract: &Contract) -> String {
    one_line(contract.title.as_deref().unwrap_or(&contract.description))
}

pub(crate) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let known: Vec<_> = known.collect();
    Failure::new(format!("there is no tool `{name}`"))
        .with_hint(suggest(name, &known, "tools"))
        .with_kind(FailureKind::Negative)
}
