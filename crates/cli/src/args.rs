//! The command line: what can be typed, and the help that says so.

use std::path::PathBuf;

use app::env::Var;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};

use crate::commands;
use crate::exit::Exit;
use crate::ui::Color;

#[derive(Debug, Parser)]
#[command(
    name = "vouch",
    bin_name = "vouch",
    version,
    about = "MCP tools that keep their contracts",
    long_about = "Vouchsafe serves tools to AI assistants over MCP and REST. Each call is checked against the \
                  tool's contract, limited, approved by a person where needed, and put on record.",
    styles = STYLES,
    max_term_width = 100,
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Folder to serve [default: where vouch.toml is, else here]
    ///
    /// Without it, vouch.toml is looked for from the current folder upwards; the folder it is in is the root. If there
    /// is none, the current folder is.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    /// Configuration file [default: vouch.toml, found upwards]
    ///
    /// With it, no other file is looked for, and the root is the current folder unless --root says otherwise.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Log more (-v, -vv, -vvv)
    ///
    /// Logs go to standard error. VOUCH_LOG sets levels by module, as `runtime=debug`.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Say only what is asked for, and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub(crate) color: Color,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(commands::serve::Args),
    Connect(commands::connect::Args),
    Init(commands::init::Args),
    Doctor(commands::doctor::Args),
    Index(commands::index::Args),
    Discover(commands::discover::Args),
    Tools(commands::tools::Args),
    Call(commands::call::Args),
    Contracts(commands::contracts::Args),
    Explain(commands::explain::Args),
    Ask(commands::ask::Args),
    Gateway(commands::gateway::Args),
    Upstream(commands::upstream::Args),
    Accept(commands::accept::Args),
    Learn(commands::learn::Args),
    Calls(commands::calls::Args),
    Check(Box<commands::check::Args>),
    Fuzz(Box<commands::fuzz::Args>),
    Solc(commands::solc::Args),
    Approvals(commands::approvals::Args),
    Audit(commands::audit::Args),
    Trace(commands::trace::Args),
    Stats(commands::stats::Args),
    Completions(commands::completions::Args),
    Man(commands::man::Args),
}

/// The commands by what people want to do. A test makes sure that none is forgotten.
const GROUPS: &[(&str, &[&str])] = &[
    ("Serve a project", &["serve", "connect", "init", "doctor", "index", "discover"]),
    ("Use tools", &["tools", "call", "contracts", "explain", "ask"]),
    ("Use other servers", &["gateway", "upstream", "accept", "learn", "calls", "check"]),
    ("Fuzz contracts", &["fuzz", "solc"]),
    ("Decide and look back", &["approvals", "audit", "trace", "stats"]),
    ("Set up the shell", &["completions", "man"]),
];

const EXAMPLES: &str = "  vouch serve                                     serve this folder on http://127.0.0.1:8377/mcp
  vouch connect claude-code --write               connect Claude Code to this folder
  vouch call read_repo_file path=README.md        call a tool from the shell
  vouch gateway                                   offer the tools of other servers
  vouch fuzz --demo                               break a small smart contract
  vouch approvals list                            what waits for a person
  vouch audit verify                              prove that no line of the record was changed";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

/// The command with its help grouped, which clap does not do by itself.
pub(crate) fn command() -> clap::Command {
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
    let variables = Var::OURS.map(|var| format!("  {:<28} {}", var.name(), var.about())).join("\n");
    let codes = Exit::ALL.map(|exit| format!("  {:<4} {}", exit.code(), exit.meaning())).join("\n");
    let short =
        format!("{}{EXAMPLES}\n\nMore about a command: vouch <command> --help", title("Examples"));
    let long = format!(
        "{}{EXAMPLES}\n\n{}{variables}\n\n{}{codes}\n\nMore about a command: vouch <command> --help",
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
    fn every_command_has_a_place_in_the_help() {
        let grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let names: Vec<_> =
            Cli::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
        assert_eq!(names, grouped);
    }

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }
}
