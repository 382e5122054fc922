//! `vouch solc`: installs a Solidity compiler in the user's cache.
//!
//! No other command downloads a compiler. This one prints the command that it runs.

use std::io::Write;

use app::solc::{cache_folder, search_path};
use clap::Subcommand;
use solidity::{DEFAULT_SOLC, InstallError, Toolchain};

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::{Failure, FailureKind, Result};
use crate::ui::format_path;

/// Install a Solidity compiler for `vouch fuzz`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch solc install
  vouch solc install 0.8.20")]
pub(crate) struct SolcArgs {
    #[command(subcommand)]
    action: SolcCommand,
}

#[derive(Debug, Subcommand)]
enum SolcCommand {
    /// Install a version with npm, for this user
    ///
    /// Installs the npm package solc in the cache (XDG_CACHE_HOME, else ~/.cache), where `vouch fuzz` looks last: a
    /// compiler given by --solc, SOLC, the PATH or the project takes precedence. Scripts of the package are not run.
    Install {
        /// Version to install
        #[arg(value_parser = parse_version, default_value = DEFAULT_SOLC)]
        version: String,
    },
}

pub(crate) fn run_solc(ctx: &CommandContext, args: &SolcArgs) -> Result<ExitStatus> {
    let SolcCommand::Install { version } = &args.action;
    let cache = cache_folder(&ctx.app.environment).ok_or_else(|| {
        Failure::new("no cache folder: neither HOME nor XDG_CACHE_HOME is set")
            .with_hint("set it: XDG_CACHE_HOME=/tmp/cache vouch solc install")
    })?;
    let path = search_path(&ctx.app.environment);
    let toolchain = Toolchain { path, ..Toolchain::default() };
    let npm = toolchain.find_program("npm").ok_or_else(|| {
        Failure::new("`npm` not found on the PATH")
            .with_hint("install Node.js, or use an installed compiler: vouch fuzz --solc PATH")
    })?;
    ctx.ui.print_note(format_args!(
        "running `{} install --ignore-scripts --no-audit --no-fund solc@{version}` in {}",
        format_path(&npm),
        format_path(&cache),
    ));
    let package =
        solidity::install_solc(version, &cache, &npm, &toolchain.path).map_err(install_failure)?;
    writeln!(ctx.ui.stdout(), "{}", package.display())?;
    Ok(ExitStatus::Success)
}

fn parse_version(text: &str) -> std::result::Result<String, String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
    let is_version = text.split('.').count() == 3 && text.split('.').all(is_number);
    is_version
        .then(|| text.to_owned())
        .ok_or_else(|| format!("expected three numbers, such as {DEFAULT_SOLC}"))
}

fn install_failure(error: InstallError) -> Failure {
    let (kind, hint) = match &error {
        InstallError::InvalidVersion(_) => {
            (FailureKind::Usage, "pass a version: `vouch solc install 0.8.37`")
        }
        InstallError::CacheUnwritable { .. } => {
            (FailureKind::Operation, "set XDG_CACHE_HOME to another folder")
        }
        _ => (
            FailureKind::Operation,
            "run `npm view solc versions` to check the version and the network",
        ),
    };
    Failure::from(error).with_hint(hint).with_kind(kind)
}
