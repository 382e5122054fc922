//! Speed of the context tools on a medium and on a large tree, next to ripgrep, semble and probe.
//!
//! vouch is measured as users run it: the shipped binary over stdio, every stage of the pipeline on.

mod grep;
mod questions;
mod read;
mod search;
mod trees;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command};
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use self::trees::SearchTree;
use super::load::StdioSession;
use super::peers::SearchPeers;
use super::process::ServerProcess;
use xtask::command::{bench_state_home, run as run_command};

use crate::dist::{binary_path, build_command};

#[derive(clap::Args)]
pub(crate) struct ContextArgs {
    /// Rounds of each measurement; the median counts
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Measure only the medium tree
    #[arg(long)]
    middle: bool,
    /// Embed every chunk of the medium tree with the embedded model, which takes many minutes
    #[arg(long)]
    complete: bool,
    /// Use the binaries in target/dist; build nothing
    #[arg(long)]
    no_build: bool,
}

pub(crate) fn run_context_bench(args: &ContextArgs) -> Result<()> {
    if !args.no_build {
        run_command(build_command(&["-p", "cli", "-p", "testkit", "--bins"]))?;
    }
    let peers = SearchPeers::install()?;
    let mut report = ContextReport::default();
    let middle = trees::fetch_middle()?;
    let big = (!args.middle).then(trees::fetch_big).transpose()?;
    for tree in std::iter::once(&middle).chain(&big) {
        eprintln!("{}: {}", tree.name, tree.path.display());
        search::measure_search(&peers, tree, args, &mut report)?;
        grep::measure_grep(&peers, tree, args, &mut report)?;
        read::measure_read(tree, &mut report)?;
    }
    println!("\n{}\n{}", report.rows.join("\n"), report.goals.join("\n"));
    Ok(())
}

/// Output at the end: tables, then the goals with the measured values.
#[derive(Default)]
struct ContextReport {
    rows: Vec<String>,
    goals: Vec<String>,
}

impl ContextReport {
    fn add_table(&mut self, title: &str, head: &str) {
        let columns = head.matches('|').count() - 1;
        self.rows.push(format!("\n{title}\n\n{head}\n|{}", "---|".repeat(columns)));
    }

    fn add_row(&mut self, row: String) {
        eprintln!("  {row}");
        self.rows.push(row);
    }

    fn add_goal(&mut self, met: bool, text: &str) {
        self.goals.push(format!("{} {text}", if met { "met   " } else { "MISSED" }));
    }
}

/// `vouch serve --stdio` on a tree, after the handshake.
struct VouchServer {
    server: ServerProcess,
    pipes: StdioSession<ChildStdin, std::io::BufReader<ChildStdout>>,
}

impl VouchServer {
    /// Starts vouch on the tree. `settings` are lines for the `[context]` section.
    fn start(tree: &SearchTree, settings: &str) -> Result<Self> {
        let config = tree.path.join("vouch.toml");
        // Every stage stays on. Limits are raised, because otherwise they would be measured.
        let limits = ["context_search", "grep_codebase", "read_file"]
            .map(|tool| {
                format!("[tools.{tool}]\nrate_per_minute = 4000000000\ntimeout_ms = 60000\n")
            })
            .join("\n");
        fs::write(&config, format!("{limits}\n[context]\n{settings}\n"))?;
        let mut command = Command::new(binary_path("vouch"));
        command.args(["serve", "--stdio"]).current_dir(&tree.path);
        let (server, input, output) = ServerProcess::start_stdio(&mut command)?;
        Ok(Self { server, pipes: StdioSession::open(input, output)? })
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, Value)> {
        self.pipes.call(tool, arguments)
    }
}

/// Removes the indexes of all trees; no-op if there are none.
fn remove_indexes() -> Result<()> {
    match fs::remove_dir_all(bench_state_home()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn median(values: impl IntoIterator<Item = Duration>) -> Duration {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_unstable();
    values[values.len() / 2]
}

fn to_ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn folder_mb(folder: &Path) -> f64 {
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => bytes += metadata.len(),
                Err(_) => {}
            }
        }
    }
    bytes as f64 / 1e6
}
