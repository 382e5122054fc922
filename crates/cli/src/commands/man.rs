//! `vouch man`: prints or writes the manual pages.

use std::io::Write;
use std::path::PathBuf;

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::{FailureExt, Result};

/// Print the manual page
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch man | man -l -
  vouch man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write the pages of all commands to this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run_man(ctx: &CommandContext, args: &ManArgs) -> Result<ExitStatus> {
    let command = crate::args::build_command();
    match &args.dir {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            ctx.ui.stdout().write_all(&page)?;
        }
        Some(dir) => {
            let failed = format!("failed to write manual pages to {}", dir.display());
            std::fs::create_dir_all(dir).explain(&failed)?;
            clap_mangen::generate_to(command, dir).explain(&failed)?;
            ctx.ui.print_note(format_args!("wrote the manual pages to {}", dir.display()));
        }
    }
    Ok(ExitStatus::Success)
}
