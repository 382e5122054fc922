//! `vouch init`: a commented `vouch.toml`.

use std::io::Write;
use std::path::Path;

use app::config::{FILE_NAME, TEMPLATE};
use app::env::Var;
use app::files::write_whole;

use crate::commands::Context;
use crate::exit::Exit;
use crate::report::{Explain, Failure, Result};

/// Write a commented vouch.toml
///
/// The file shows every key with its default, commented out, so that it changes nothing until you do.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Replace a vouch.toml that is there
    #[arg(long)]
    force: bool,
    /// Print it instead of writing it
    #[arg(long, conflicts_with = "force")]
    print: bool,
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    if args.print {
        write!(ctx.ui.out(), "{TEMPLATE}")?;
        return Ok(Exit::Success);
    }
    // Not the root that is found upwards: here is where a new project begins.
    let root = ctx.app.place.root.as_deref();
    let root =
        root.or_else(|| ctx.app.environment.get(Var::Root).map(Path::new)).unwrap_or(Path::new(""));
    let path = ctx.app.place.config.clone().unwrap_or_else(|| root.join(FILE_NAME));
    if path.exists() && !args.force {
        return Err(Failure::usage(format!("{} is there already", path.display()))
            .with_hint("to replace it: vouch init --force"));
    }
    write_whole(&path, TEMPLATE).explain(format!("cannot write {}", path.display()))?;
    ctx.ui.note(format_args!(
        "wrote {}\n\nNext:\n  vouch doctor                   check it\n  vouch serve                    serve this folder\n  vouch connect claude-code      connect a client",
        path.display()
    ));
    Ok(Exit::Success)
}
