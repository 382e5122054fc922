//! The command line: global options, the list of commands and the top-level help.

use std::path::PathBuf;

use app::env::EnvVar;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};

use crate::commands;
use crate::exit::ExitStatus;
use crate::ui::ColorMode;

#[derive(Debug, Parser)]
#[command(
    name = "vouch",
    bin_name = "vouch",
    version,
    about = "MCP tools that keep their contracts",
    long_about = "Vouchsafe serves tools to AI assistants over MCP and REST. Each call is checked against the \
                  tool's contract, rate-limited, approved by a person if required, and recorded.",
    styles = STYLES,
    max_term_width = 100,
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Project root [default: the folder of vouch.toml, else the current folder]
    ///
    /// Without it, vouch.toml is searched for in the current folder and its parents. The folder that contains it is the
    /// root. If no vouch.toml is found, the current folder is the root.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    /// Configuration file [default: vouch.toml in the current folder or a parent]
    ///
    /// With it, no other file is searched for, and the root is the current folder unless --root is given.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Trust the folder for this run only, without a record
    ///
    /// For CI and containers: everything in the folder's files applies, as after `vouch trust`, also if they belong to
    /// another user. VOUCH_TRUST=1 is the same.
    #[arg(long, global = true)]
    pub(crate) trust: bool,

    /// Increase log verbosity (-v, -vv, -vvv)
    ///
    /// Logs go to standard error. VOUCH_LOG sets levels by module, for example `runtime=debug`.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Print only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// When to use colors
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub(crate) color: ColorMode,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    Serve(commands::serve::ServeArgs),
    Connect(commands::connect::ConnectArgs),
    Token(commands::token::TokenArgs),
    Init(commands::init::InitArgs),
    Trust(commands::trust::TrustArgs),
    Untrust(commands::untrust::UntrustArgs),
    Doctor(commands::doctor::DoctorArgs),
    Index(commands::index::IndexArgs),
    Discover(commands::discover::DiscoverArgs),
    Tools(commands::tools::ToolsArgs),
    Call(commands::call::CallArgs),
    Contracts(commands::contracts::ContractsArgs),
    Explain(commands::explain::ExplainArgs),
    Ask(commands::ask::AskArgs),
    Gateway(commands::gateway::GatewayArgs),
    Upstream(commands::upstream::UpstreamArgs),
    Accept(commands::accept::AcceptArgs),
    Learn(commands::learn::LearnArgs),
    Calls(commands::calls::CallsArgs),
    Check(Box<commands::check::CheckArgs>),
    Fuzz(Box<commands::fuzz::Args>),
    Solc(commands::solc::SolcArgs),
    Approvals(commands::approvals::ApprovalsArgs),
    Audit(commands::audit::AuditArgs),
    Trace(commands::trace::TraceArgs),
    Stats(commands::stats::StatsArgs),
    Completions(commands::completions::CompletionsArgs),
    Man(commands::man::ManArgs),
}

/// Groups of commands in the help, in the order of the enum. A test checks that every command is listed.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Serve a project",
        &["serve", "connect", "token", "init", "trust", "untrust", "doctor", "index", "discover"],
    ),
    ("Use tools", &["tools", "call", "contracts", "explain", "ask"]),
    ("Use other servers", &["gateway", "upstream", "accept", "learn", "calls", "check"]),
    ("Fuzz smart contracts", &["fuzz", "solc"]),
    ("Review and audit", &["approvals", "audit", "trace", "stats"]),
    ("Set up the shell", &["completions", "man"]),
];

const EXAMPLES: &str = "  vouch serve                                     serve this folder on http://127.0.0.1:8377/mcp
  vouch connect claude-code --write               connect Claude Code to this folder
  vouch call read_repo_file path=README.md        call a tool from the shell
  vouch gateway                                   serve the tools of other servers
  vouch fuzz --demo                               break a small smart contract
  vouch approvals list                            list pending approvals
  vouch audit verify                              verify that the audit log was not modified";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

/// Returns the clap command with a grouped list of subcommands, which clap does not support itself.
pub(crate) fn build_command() -> clap::Command {
    let command = Cli::command();
    let header = command.get_styles().get_header().to_owned();
    let literal = command.get_styles().get_literal().to_owned();
    let mut groups = String::new();
    for (title, names) in GROUPS {
        groups.push_str(&format!("{header}{title}:{header:#}\n"));
        for name in *names {
            let about = command.find_subcommand(name).and_then(|found| found.get_about());
            let about = about.map(ToString::to_string).unwrap_or_default();
            groups.push_str(&format!("  {literal}{name:<12}{literal:#} {about}\n"));
        }
        groups.push('\n');
    }
    let title = |text: &str| format!("{header}{text}:{header:#}\n");
    let variables = EnvVar::CONFIGURATION
        .map(|var| format!("  {:<28} {}", var.name(), var.help_text()))
        .join("\n");
    let codes =
        ExitStatus::ALL.map(|exit| format!("  {:<4} {}", exit.code(), exit.meaning())).join("\n");
    let short = format!(
        "{}{EXAMPLES}\n\nRun `vouch <command> --help` for more about a command",
        title("Examples")
    );
    let long = format!(
        "{}{EXAMPLES}\n\n{}{variables}\n\n{}{codes}\n\nRun `vouch <command> --help` for more about a command",
        title("Examples"),
        title("Environment"),
        title("Exit codes"),
    );
    command
        .help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{}{{options}}{{after-help}}",
            title("Options"),
        ))
        .override_usage("vouch [OPTIONS] <COMMAND>")
        .after_help(short)
        .after_long_help(long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_groups_list_every_command() {
        let grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let names: Vec<_> =
            Cli::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
        assert_eq!(names, grouped);
    }

    #[test]
    fn clap_definition_is_valid() {
        build_command().debug_assert();
    }
}
