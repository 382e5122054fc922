//! `vouch init`: writes a commented `vouch.toml`.

use std::io::Write;
use std::path::Path;

use app::config::{FILE_NAME, TEMPLATE};
use app::env::EnvVar;
use app::trust::resolve_write_path;
use store::files::replace_content;

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::{Failure, FailureExt, Result};
use crate::ui::format_path;

/// Write a commented vouch.toml
///
/// The file lists every key with its default, commented out, so that it has no effect until you edit it.
#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// Replace an existing vouch.toml
    #[arg(long)]
    force: bool,
    /// Print the file instead of writing it
    #[arg(long, conflicts_with = "force")]
    print: bool,
}

pub(crate) fn run_init(ctx: &CommandContext, args: &InitArgs) -> Result<ExitStatus> {
    if args.print {
        ctx.app.notify_left_out();
        write!(ctx.ui.stdout(), "{TEMPLATE}")?;
        return Ok(ExitStatus::Success);
    }
    // Parent folders are not searched: a new project begins in the current folder.
    let root = ctx.app.location.root.as_deref();
    let root = root
        .or_else(|| ctx.app.environment.get(EnvVar::Root).map(Path::new))
        .unwrap_or(Path::new(""));
    let path = ctx.app.location.config.clone().unwrap_or_else(|| root.join(FILE_NAME));
    if path.exists() && !args.force {
        ctx.app.notify_left_out();
        return Err(Failure::usage(format!("{} already exists", path.display()))
            .with_hint("pass `--force` to replace it"));
    }
    let written = write_template(ctx, root, &path);
    // What the replaced file asked for is gone; other files may ask for something.
    ctx.app.notify_left_out();
    written.explain(format!("failed to write {}", path.display()))?;
    ctx.ui.print_note(format_args!(
        "wrote {}\n\nNext:\n  vouch doctor                   check it\n  vouch serve                    serve this folder\n  vouch connect claude-code      connect a client",
        format_path(&path)
    ));
    Ok(ExitStatus::Success)
}

/// Writes the file. A folder that asks for nothing else is trusted with it, so that the next edit is shown and asked for.
fn write_template(ctx: &CommandContext, root: &Path, path: &Path) -> std::io::Result<()> {
    let text = TEMPLATE.as_bytes();
    let target = match ctx.app.location.config {
        // The user named the file, which may be a link.
        Some(_) => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
        None => {
            let root = std::path::absolute(root.join("."))?.canonicalize()?;
            resolve_write_path(&root, &root.join(FILE_NAME))?
        }
    };
    let mut write = || replace_content(&target, text);
    let whole = std::path::absolute(path)?;
    // A file that does not load can be replaced too; then no record is written.
    match ctx.app.folder_trust() {
        Ok(trust) if trust.root().join(FILE_NAME) == whole && trust.check_writable().is_ok() => {
            trust.write_file(&whole, text, &mut write)
        }
        _ => write(),
    }
}
