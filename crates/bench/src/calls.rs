//! What a call costs with every stage of the pipeline on, beside the same tool with none.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::load::{self, Pipes, Sample};
use super::process::Server;
use xtask::command::run as run_command;

use crate::dist::{binary_path, build_command};

/// Calls before the clock runs.
const WARM_UP: usize = 300;
/// A 4 KB text, as the goal is stated for.
const FILE_BYTES: usize = 4096;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Calls in each round
    #[arg(long, default_value_t = 20_000)]
    calls: usize,
    /// Rounds, interleaved between the servers; the median counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Use the binaries in target/dist; build nothing
    #[arg(long)]
    no_build: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Peer {
    Vouch,
    Bare,
    Filesystem,
}

impl Peer {
    fn name(self) -> &'static str {
        match self {
            Self::Vouch => "vouch",
            Self::Bare => "bare rmcp",
            Self::Filesystem => "server-filesystem",
        }
    }
}

#[derive(Clone, Copy)]
enum Door {
    /// With so many calls on their way
    Stdio(usize),
    /// With so many connections
    Http(usize),
}

impl Door {
    fn name(self) -> String {
        match self {
            Self::Stdio(in_flight) => format!("stdio ×{in_flight}"),
            Self::Http(connections) => format!("HTTP ×{connections}"),
        }
    }
}

/// One row of the table: the medians over the rounds.
struct Row {
    tool: &'static str,
    door: String,
    peer: Peer,
    per_second: f64,
    p50: f64,
    p99: f64,
    cpu: f64,
    resident: f64,
}

struct Bench {
    root: PathBuf,
    node: PathBuf,
    project: tempfile::TempDir,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let bench = Bench::prepare(args)?;
    let mut rows = Vec::new();
    for tool in ["hello", "read_repo_file"] {
        for door in [Door::Stdio(1), Door::Stdio(32), Door::Http(1), Door::Http(32)] {
            rows.extend(bench.compare(tool, door, args)?);
        }
    }
    println!("\n{}", table(&rows));
    println!("{}", verdict(&rows));
    Ok(())
}

impl Bench {
    fn prepare(args: &Args) -> Result<Self> {
        let root = xtask::command::root();
        if !args.no_build {
            run_command(build_command(&["-p", "cli", "-p", "testkit", "--bins"]))?;
        }
        let node = xtask::install::node()?;
        let project = tempfile::tempdir()?;
        let text: String =
            "All work is reviewed before it lands.\n".chars().cycle().take(FILE_BYTES).collect();
        fs::write(project.path().join("file.txt"), text)?;
        // Every stage stays on; only the numbers are raised, or the limits would be what is measured.
        let limits = ["hello", "read_repo_file"]
            .map(|tool| format!("[tools.{tool}]\nrate_per_minute = 4000000000\n"))
            .join("\n");
        fs::write(project.path().join("vouch.toml"), limits)?;
        Ok(Self { root, node, project })
    }

    fn folder(&self) -> &Path {
        self.project.path()
    }

    fn compare(&self, tool: &'static str, door: Door, args: &Args) -> Result<Vec<Row>> {
        // server-filesystem has no HTTP door and nothing like `hello`.
        let filesystem = matches!(door, Door::Stdio(_)) && tool == "read_repo_file";
        let peers: Vec<_> = [Peer::Vouch, Peer::Bare]
            .into_iter()
            .chain(filesystem.then_some(Peer::Filesystem))
            .collect();
        let mut rounds: Vec<Vec<Row>> = peers.iter().map(|_| Vec::new()).collect();
        for round in 1..=args.rounds {
            for (peer, rows) in peers.iter().zip(&mut rounds) {
                eprintln!("{tool} over {}: {} (round {round})", door.name(), peer.name());
                rows.push(self.measure(*peer, tool, door, args.calls)?);
            }
        }
        Ok(rounds.into_iter().map(median).collect())
    }

    fn measure(&self, peer: Peer, tool: &'static str, door: Door, calls: usize) -> Result<Row> {
        let (name, arguments) = self.call(peer, tool);
        let (sample, cpu, resident) = match door {
            Door::Stdio(in_flight) => {
                let (server, input, output) = Server::stdio(&mut self.command(peer, true)?)?;
                let mut pipes = Pipes::open(input, output)?;
                pipes.run(name, &arguments, in_flight, WARM_UP)?;
                let before = server.cpu_seconds()?;
                let sample = pipes.run(name, &arguments, in_flight, calls)?;
                (sample, server.cpu_seconds()? - before, server.resident_mb()?)
            }
            Door::Http(connections) => {
                let server = Server::http(&mut self.command(peer, false)?)?;
                let address = server.address.clone().context("no address")?;
                load::http(&address, name, &arguments, connections, WARM_UP.max(connections))?;
                let before = server.cpu_seconds()?;
                let sample = load::http(&address, name, &arguments, connections, calls)?;
                (sample, server.cpu_seconds()? - before, server.resident_mb()?)
            }
        };
        Ok(row(tool, door, peer, &sample, cpu, resident))
    }

    fn call(&self, peer: Peer, tool: &str) -> (&'static str, Value) {
        match (peer, tool) {
            (Peer::Filesystem, _) => {
                ("read_text_file", json!({"path": self.folder().join("file.txt")}))
            }
            (_, "hello") => ("hello", json!({"name": "bench"})),
            _ => ("read_repo_file", json!({"path": "file.txt"})),
        }
    }

    fn command(&self, peer: Peer, stdio: bool) -> Result<Command> {
        let mut command = match peer {
            Peer::Vouch => {
                let mut command = Command::new(binary_path("vouch"));
                command.arg("serve");
                command.args(if stdio { &["--stdio"][..] } else { &["--port", "0"] });
                command
            }
            Peer::Bare => {
                let mut command = Command::new(binary_path("bare_server"));
                command.args(stdio.then_some("--stdio"));
                command
            }
            Peer::Filesystem => {
                let package =
                    "e2e/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
                let mut command = Command::new(&self.node);
                command.arg(self.root.join(package)).arg(self.folder());
                command
            }
        };
        command.current_dir(self.folder());
        Ok(command)
    }
}

fn row(
    tool: &'static str,
    door: Door,
    peer: Peer,
    sample: &Sample,
    cpu: f64,
    resident: f64,
) -> Row {
    Row {
        tool,
        door: door.name(),
        peer,
        per_second: sample.per_second(),
        p50: sample.quantile_us(0.5),
        p99: sample.quantile_us(0.99),
        cpu: cpu * 1e6 / sample.calls as f64,
        resident,
    }
}

fn median(rounds: Vec<Row>) -> Row {
    let middle = |pick: fn(&Row) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(pick).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Row {
        tool: rounds[0].tool,
        door: rounds[0].door.clone(),
        peer: rounds[0].peer,
        per_second: middle(|row| row.per_second),
        p50: middle(|row| row.p50),
        p99: middle(|row| row.p99),
        cpu: middle(|row| row.cpu),
        resident: middle(|row| row.resident),
    }
}

fn table(rows: &[Row]) -> String {
    let mut out = String::from(
        "| tool | door | server | calls/s | p50 µs | p99 µs | CPU µs/call | resident MB |\n|---|---|---|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        writeln!(
            out,
            "| {} | {} | {} | {:.0} | {:.0} | {:.0} | {:.1} | {:.1} |",
            row.tool,
            row.door,
            row.peer.name(),
            row.per_second,
            row.p50,
            row.p99,
            row.cpu,
            row.resident
        )
        .expect("writing to a string never fails");
    }
    out
}

/// The goals, each with the figure that meets or misses it.
fn verdict(rows: &[Row]) -> String {
    let mut out = String::new();
    let mut line = |text: String, met: bool| {
        writeln!(out, "{} {text}", if met { "met   " } else { "MISSED" })
            .expect("writing to a string never fails");
    };
    for row in rows.iter().filter(|row| row.peer == Peer::Vouch) {
        let same = |peer| {
            rows.iter().find(|other| {
                other.peer == peer && other.tool == row.tool && other.door == row.door
            })
        };
        if let Some(bare) = same(Peer::Bare) {
            let ratio = row.cpu / bare.cpu;
            line(
                format!(
                    "{} over {}: CPU per call {ratio:.2} × bare rmcp (goal 1.3)",
                    row.tool, row.door
                ),
                ratio <= 1.3,
            );
        }
        if let Some(peer) = same(Peer::Filesystem) {
            let ratio = row.per_second / peer.per_second;
            line(
                format!(
                    "{} over {}: {ratio:.1} × the calls of server-filesystem (goal 5)",
                    row.tool, row.door
                ),
                ratio >= 5.0,
            );
        }
    }
    let most = rows
        .iter()
        .filter(|row| row.peer == Peer::Vouch)
        .map(|row| row.resident)
        .fold(0.0, f64::max);
    line(format!("at most {most:.1} MB resident (goal 30)"), most < 30.0);
    out
}
