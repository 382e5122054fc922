//! `vouch man`: manual pages.

use std::io::Write;
use std::path::PathBuf;

use crate::commands::Context;
use crate::exit::Exit;
use crate::report::{Explain, Result};

/// Print the manual page
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch man | man -l -
  vouch man --dir ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// Write the pages of all commands into this folder instead
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let command = crate::args::command();
    match &args.dir {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            ctx.ui.out().write_all(&page)?;
        }
        Some(dir) => {
            let failed = format!("cannot write manual pages into {}", dir.display());
            std::fs::create_dir_all(dir).explain(&failed)?;
            clap_mangen::generate_to(command, dir).explain(&failed)?;
            ctx.ui.note(format_args!("wrote the manual pages into {}", dir.display()));
        }
    }
    Ok(Exit::Success)
}
