//! `vouch token`: prints the token that callers of this project's server send, or replaces it.

use std::io::Write;

use app::config::TokenSource;
use app::project;
use clap::Subcommand;

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::{Failure, Result};

/// Print the token of this project
///
/// Callers of `vouch serve` and `vouch gateway` over HTTP send it as `Authorization: Bearer <token>`. It is created on
/// first use and stored in the state folder, where only you can read it. Clients over stdio need none.
///
/// If VOUCH_TOKEN or a token file is configured, prints the first token of that instead.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch token
  curl -H \"Authorization: Bearer $(vouch token)\" http://127.0.0.1:8377/v1/tools
  vouch token rotate")]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    action: Option<TokenCommand>,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Replace the token
    ///
    /// A running server accepts the old token until it receives SIGHUP or is restarted. Run `vouch connect` again for
    /// clients that connect over HTTP.
    Rotate,
}

pub(crate) fn run_token(ctx: &CommandContext, args: &TokenArgs) -> Result<ExitStatus> {
    let settings = ctx.app.settings()?;
    let is_project = matches!(settings.server.token, Some(TokenSource::Project));
    let token = match args.action {
        Some(TokenCommand::Rotate) if !is_project => {
            return Err(Failure::usage("the token of this project is not in use")
                .with_hint("change the tokens in VOUCH_TOKEN or in the token file"));
        }
        Some(TokenCommand::Rotate) => {
            let token = project::rotate_project_token(&settings)?;
            ctx.ui.print_note(
                "Send SIGHUP to running servers or restart them, and run `vouch connect <client> --http --write` again.",
            );
            token.expose_secret().to_owned()
        }
        None if is_project => project::open_project_token(&settings)?.0.expose_secret().to_owned(),
        None => project::load_first_token(&settings)?.unwrap_or_default(),
    };
    writeln!(ctx.ui.stdout(), "{token}")?;
    Ok(ExitStatus::Success)
}
