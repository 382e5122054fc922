//! `vouch completions`: prints a shell completion script.

use std::io::Write;

use clap_complete::Shell;

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::Result;

/// Print a shell completion script
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch completions bash > ~/.local/share/bash-completion/completions/vouch
  vouch completions zsh  > ~/.zfunc/_vouch
  vouch completions fish > ~/.config/fish/completions/vouch.fish")]
pub(crate) struct CompletionsArgs {
    shell: Shell,
}

pub(crate) fn run_completions(ctx: &CommandContext, args: &CompletionsArgs) -> Result<ExitStatus> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::args::build_command(), "vouch", &mut script);
    ctx.ui.stdout().write_all(&script)?;
    Ok(ExitStatus::Success)
}
