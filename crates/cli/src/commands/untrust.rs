//! `vouch untrust`: removes the trust record of a folder.

use std::path::PathBuf;

use app::context::trust_failure;
use app::env::EnvVar;
use app::trust::TrustStore;
use contract::text::one_line;

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::Result;
use crate::ui::GOOD;

/// Withdraw the trust in this folder
///
/// From now on its files can only restrict, until you run `vouch trust` again. Running servers keep what they have.
#[derive(Debug, clap::Args)]
pub(crate) struct UntrustArgs {
    /// Folder, also one that no longer exists [default: the project]
    folder: Option<PathBuf>,
}

pub(crate) fn run_untrust(ctx: &CommandContext, args: &UntrustArgs) -> Result<ExitStatus> {
    let store = TrustStore::from_environment(&ctx.app.environment).map_err(trust_failure)?;
    let root = match &args.folder {
        Some(folder) => {
            let whole = std::path::absolute(folder)?;
            whole.canonicalize().unwrap_or(whole)
        }
        None => find_project(ctx)?,
    };
    let removed = store.remove(&root).map_err(trust_failure)?;
    let shown = one_line(&root.to_string_lossy());
    match removed {
        0 => ctx.ui.print_note(format_args!("{shown} was not trusted")),
        _ => ctx.ui.print_note(format_args!("{GOOD}no longer trusted:{GOOD:#} {shown}")),
    }
    ctx.app.notify_left_out();
    Ok(ExitStatus::Success)
}

/// Returns the project's root, also if its configuration cannot be loaded.
fn find_project(ctx: &CommandContext) -> Result<PathBuf> {
    if let Ok(trust) = ctx.app.folder_trust() {
        return Ok(trust.root().to_owned());
    }
    let root = ctx.app.location.root.clone();
    let root = root.or_else(|| ctx.app.environment.get(EnvVar::Root).map(PathBuf::from));
    Ok(root.unwrap_or_else(|| PathBuf::from(".")).canonicalize()?)
}
