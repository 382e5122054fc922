//! `vouch solc`: the Solidity compiler in the user's cache.
//!
//! Nothing else fetches a compiler: who wants one asks for it here, and is told what is run.

use std::io::Write;

use app::solc::{cache, search_path};
use clap::Subcommand;
use solidity::{DEFAULT_SOLC, InstallError, Toolchain};

use crate::commands::Context;
use crate::exit::Exit;
use crate::report::{Failure, FailureKind, Result};

/// Install a Solidity compiler for `vouch fuzz`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch solc install
  vouch solc install 0.8.20")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Install a version with npm, for this user
    ///
    /// The npm package solc is put into the cache (XDG_CACHE_HOME, else ~/.cache), where `vouch fuzz` looks last: a compiler
    /// that --solc, SOLC, the PATH or the project names goes before it. Scripts of the package are not run.
    Install {
        /// Which one
        #[arg(value_parser = version, default_value = DEFAULT_SOLC)]
        version: String,
    },
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let Action::Install { version } = &args.action;
    let cache = cache(&ctx.app.environment).ok_or_else(|| {
        Failure::new("there is no folder for the cache: neither HOME nor XDG_CACHE_HOME is set")
            .with_hint("say where: XDG_CACHE_HOME=/tmp/cache vouch solc install")
    })?;
    let path = search_path(&ctx.app.environment);
    let npm = Toolchain { path, ..Toolchain::default() }.program("npm").ok_or_else(|| {
        Failure::new("there is no `npm` on the PATH")
            .with_hint("install Node.js, or name a compiler that is there: vouch fuzz --solc PATH")
    })?;
    ctx.ui.note(format_args!(
        "running: {} install --ignore-scripts --no-audit --no-fund solc@{version}, into {}",
        npm.display(),
        cache.display(),
    ));
    let package = solidity::install(version, &cache, &npm).map_err(not_installed)?;
    writeln!(ctx.ui.out(), "{}", package.display())?;
    Ok(Exit::Success)
}

fn version(text: &str) -> std::result::Result<String, String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
    let is_version = text.split('.').count() == 3 && text.split('.').all(is_number);
    is_version
        .then(|| text.to_owned())
        .ok_or_else(|| format!("expected three numbers, such as {DEFAULT_SOLC}"))
}

fn not_installed(error: InstallError) -> Failure {
    let (kind, hint) = match &error {
        InstallError::NotAVersion(_) => {
            (FailureKind::Usage, "write it as `vouch solc install 0.8.37`")
        }
        InstallError::Cache { .. } => {
            (FailureKind::Operation, "name another folder in XDG_CACHE_HOME")
        }
        _ => (FailureKind::Operation, "check the version and the network: npm view solc versions"),
    };
    Failure::from(error).with_hint(hint).with_kind(kind)
}
