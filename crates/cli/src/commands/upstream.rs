//! `vouch upstream`: which other servers there are, and what became of their tools. Only `tools` starts them.

mod add;
mod import;
mod list;
mod remove;
mod tools;

use clap::Subcommand;

use crate::commands::{Context, Format};
use crate::exit::Exit;
use crate::report::Result;

/// Name the other servers whose tools are offered
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch upstream add files -- npx -y @modelcontextprotocol/server-filesystem .
  vouch upstream add remote --url https://example.com/mcp --header 'Authorization: Bearer ${TOKEN}'
  vouch upstream import --from claude-code --dry-run
  vouch upstream list
  vouch upstream tools files")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Add(Box<add::Args>),
    /// List them, with where they are and what they may do
    List {
        #[command(flatten)]
        format: Format,
    },
    Tools(tools::Args),
    Remove(remove::Args),
    Import(import::Args),
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    match &args.action {
        Action::Add(args) => add::run(ctx, args),
        Action::List { format } => list::run(ctx, format),
        Action::Tools(args) => tools::run(ctx, args),
        Action::Remove(args) => remove::run(ctx, args),
        Action::Import(args) => import::run(ctx, args),
    }
}
