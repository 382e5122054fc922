//! `vouch completions`: for the shell.

use std::io::Write;

use clap_complete::Shell;

use crate::commands::Context;
use crate::exit::Exit;
use crate::report::Result;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch completions bash > ~/.local/share/bash-completion/completions/vouch
  vouch completions zsh  > ~/.zfunc/_vouch
  vouch completions fish > ~/.config/fish/completions/vouch.fish")]
pub(crate) struct Args {
    shell: Shell,
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::args::command(), "vouch", &mut script);
    ctx.ui.out().write_all(&script)?;
    Ok(Exit::Success)
}
