//! `vouch init`: a commented `vouch.toml`.

use std::io::Write;
use std::path::Path;

use crate::commands::Context;
use crate::config::{FILE_NAME, TEMPLATE};
use crate::env::Var;
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
    let root = ctx.place.root.as_deref();
    let root =
        root.or_else(|| ctx.environment.get(Var::Root).map(Path::new)).unwrap_or(Path::new(""));
    let path = ctx.place.config.clone().unwrap_or_else(|| root.join(FILE_NAME));
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

/// All of it or nothing: written beside the file and moved into place.
pub(crate) fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    // A link is the owner's way to keep the file elsewhere: the target is replaced, not the link.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new().prefix(".vouch-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    // Temporary files are private; what replaces a file keeps its permissions, a new one gets the usual.
    let permissions = match std::fs::metadata(&path) {
        Ok(metadata) => metadata.permissions(),
        Err(_) => std::os::unix::fs::PermissionsExt::from_mode(0o644),
    };
    file.as_file().set_permissions(permissions)?;
    file.as_file().sync_all()?;
    file.persist(&path)?;
    Ok(())
}
