//! `vouch upstream`: manages the upstream servers in vouch.toml. Only `vouch upstream tools` starts them.

mod add;
mod import;
mod list;
mod remove;
mod tools;

use clap::Subcommand;

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::report::Result;

/// Manage upstream MCP servers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch upstream add files -- npx -y @modelcontextprotocol/server-filesystem .
  vouch upstream add remote --url https://example.com/mcp --header 'Authorization: Bearer ${TOKEN}'
  vouch upstream import --from claude-code --dry-run
  vouch upstream list
  vouch upstream tools files")]
pub(crate) struct UpstreamArgs {
    #[command(subcommand)]
    action: UpstreamCommand,
}

#[derive(Debug, Subcommand)]
enum UpstreamCommand {
    Add(Box<add::UpstreamAddArgs>),
    /// List the servers, with their commands or URLs and their sandboxes
    List {
        #[command(flatten)]
        format: JsonOutputArgs,
    },
    Tools(tools::UpstreamToolsArgs),
    Remove(remove::UpstreamRemoveArgs),
    Import(import::UpstreamImportArgs),
}

pub(crate) fn run_upstream(ctx: &CommandContext, args: &UpstreamArgs) -> Result<ExitStatus> {
    match &args.action {
        UpstreamCommand::Add(args) => add::run_upstream_add(ctx, args),
        UpstreamCommand::List { format } => list::run_upstream_list(ctx, format),
        UpstreamCommand::Tools(args) => tools::run_upstream_tools(ctx, args),
        UpstreamCommand::Remove(args) => remove::run_upstream_remove(ctx, args),
        UpstreamCommand::Import(args) => import::run_upstream_import(ctx, args),
    }
}
