//! `vouch solc`: installs a Solidity compiler in the user's cache.
//!
//! Only this command and `vouch fuzz --install-solc` download compilers. It prints the command that it runs.

use std::io::Write;

use app::solc::SolcInstaller;
use clap::Subcommand;
use contract::text::one_line;
use solidity::DEFAULT_SOLC;

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::Result;
use crate::ui::format_path;

/// Install a Solidity compiler for `vouch fuzz`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch solc install
  vouch solc install 0.7.6 0.8.20")]
pub(crate) struct SolcArgs {
    #[command(subcommand)]
    action: SolcCommand,
}

#[derive(Debug, Subcommand)]
enum SolcCommand {
    /// Install versions with npm, for this user
    ///
    /// Installs the npm package solc in the cache (XDG_CACHE_HOME, else ~/.cache), where `vouch fuzz` looks last: a
    /// compiler given by --solc, SOLC, the PATH or the project takes precedence if it suits the sources. Scripts of the
    /// package are not run. Several versions can be installed side by side.
    Install {
        /// Versions to install
        #[arg(value_name = "VERSION", value_parser = parse_version, default_value = DEFAULT_SOLC)]
        versions: Vec<String>,
    },
}

pub(crate) fn run_solc(ctx: &CommandContext, args: &SolcArgs) -> Result<ExitStatus> {
    ctx.app.notify_left_out();
    let SolcCommand::Install { versions } = &args.action;
    let installer = SolcInstaller::from_environment(&ctx.app.environment)?;
    for version in versions {
        ctx.ui.print_note(format_args!(
            "running `{}` in {}",
            one_line(&installer.describe_command(version)),
            format_path(&installer.cache),
        ));
        writeln!(ctx.ui.stdout(), "{}", installer.install(version)?.display())?;
    }
    Ok(ExitStatus::Success)
}

fn parse_version(text: &str) -> std::result::Result<String, String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
    let is_version = text.split('.').count() == 3 && text.split('.').all(is_number);
    is_version
        .then(|| text.to_owned())
        .ok_or_else(|| format!("expected three numbers, such as {DEFAULT_SOLC}"))
}
