//! Cost of a call with every stage of the pipeline on, next to the same tool without a pipeline.

mod instructions;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::load::{self, LatencySample, StdioSession};
use super::process::ServerProcess;
use xtask::command::run as run_command;

use crate::dist::{binary_path, build_command};

/// Calls before the clock runs.
const WARM_UP: usize = 300;
/// Size of the file that is read; the goal is stated for 4 KB.
const FILE_BYTES: usize = 4096;
/// Processor time of a call in relation to that of an earlier build.
const MAX_COST_RATIO: f64 = 1.05;

#[derive(clap::Args)]
pub(crate) struct CallsArgs {
    /// Calls in each round
    #[arg(long, default_value_t = 20_000)]
    calls: usize,
    /// Rounds, interleaved between the servers; the median counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Use the binaries in target/dist; build nothing
    #[arg(long)]
    no_build: bool,
    /// Also measure `vouch` of an earlier build in this folder, and compare
    #[arg(long, value_name = "DIR")]
    before: Option<PathBuf>,
    /// Count instructions over stdio instead of time; needs valgrind
    #[arg(long)]
    instructions: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallServer {
    Vouch,
    /// An earlier build of vouch.
    Before,
    Bare,
    Filesystem,
}

impl CallServer {
    fn name(self) -> &'static str {
        match self {
            Self::Vouch => "vouch",
            Self::Before => "vouch before",
            Self::Bare => "bare rmcp",
            Self::Filesystem => "server-filesystem",
        }
    }
}

#[derive(Clone, Copy)]
enum CallTransport {
    /// Calls in flight
    Stdio(usize),
    /// Connections, each with one call at a time
    Http(usize),
}

impl CallTransport {
    fn name(self) -> String {
        match self {
            Self::Stdio(in_flight) => format!("stdio ×{in_flight}"),
            Self::Http(connections) => format!("HTTP ×{connections}"),
        }
    }
}

/// One row of the table: the medians over the rounds.
struct CallRow {
    tool: &'static str,
    transport: String,
    peer: CallServer,
    per_second: f64,
    p50: f64,
    p99: f64,
    cpu: f64,
    resident: f64,
}

struct CallBench {
    root: PathBuf,
    node: PathBuf,
    project: tempfile::TempDir,
    before: Option<PathBuf>,
}

pub(crate) fn run_calls_bench(args: &CallsArgs) -> Result<()> {
    let bench = CallBench::prepare(args)?;
    if args.instructions {
        let mut binaries = vec![binary_path("")];
        binaries.extend(bench.before.clone());
        return instructions::run_instruction_bench(&bench, &binaries, args.calls.min(500));
    }
    let mut rows = Vec::new();
    for tool in ["hello", "read_repo_file"] {
        for transport in [
            CallTransport::Stdio(1),
            CallTransport::Stdio(32),
            CallTransport::Http(1),
            CallTransport::Http(32),
        ] {
            rows.extend(bench.compare_servers(tool, transport, args)?);
        }
    }
    println!("\n{}", format_table(&rows));
    println!("{}", format_verdict(&rows));
    Ok(())
}

impl CallBench {
    fn prepare(args: &CallsArgs) -> Result<Self> {
        let root = xtask::command::root();
        if !args.no_build {
            run_command(build_command(&["-p", "cli", "-p", "testkit", "--bins"]))?;
        }
        let node = match args.instructions {
            true => PathBuf::new(),
            false => xtask::install::node()?,
        };
        let project = tempfile::tempdir()?;
        let text: String =
            "All work is reviewed before it lands.\n".chars().cycle().take(FILE_BYTES).collect();
        fs::write(project.path().join("file.txt"), text)?;
        // Every stage stays on. Rate limits are raised, because otherwise they would be measured; time limits, because
        // calls under callgrind are slow.
        let limits = ["hello", "read_repo_file"]
            .map(|tool| {
                format!("[tools.{tool}]\nrate_per_minute = 4000000000\ntimeout_ms = 60000\n")
            })
            .join("\n");
        fs::write(project.path().join("vouch.toml"), limits)?;
        let before = args.before.as_ref().map(|folder| folder.canonicalize()).transpose()?;
        Ok(Self { root, node, project, before })
    }

    fn folder(&self) -> &Path {
        self.project.path()
    }

    fn compare_servers(
        &self,
        tool: &'static str,
        transport: CallTransport,
        args: &CallsArgs,
    ) -> Result<Vec<CallRow>> {
        // server-filesystem has neither HTTP nor a tool like `hello`.
        let filesystem = matches!(transport, CallTransport::Stdio(_)) && tool == "read_repo_file";
        let peers: Vec<_> = [CallServer::Vouch]
            .into_iter()
            .chain(self.before.is_some().then_some(CallServer::Before))
            .chain([CallServer::Bare])
            .chain(filesystem.then_some(CallServer::Filesystem))
            .collect();
        let mut rounds: Vec<Vec<CallRow>> = peers.iter().map(|_| Vec::new()).collect();
        for round in 1..=args.rounds {
            for (peer, rows) in peers.iter().zip(&mut rounds) {
                eprintln!("{tool} over {}: {} (round {round})", transport.name(), peer.name());
                rows.push(self.measure_server(*peer, tool, transport, args.calls)?);
            }
        }
        Ok(rounds.into_iter().map(median_row).collect())
    }

    fn measure_server(
        &self,
        peer: CallServer,
        tool: &'static str,
        transport: CallTransport,
        calls: usize,
    ) -> Result<CallRow> {
        let (name, arguments) = self.call_arguments(peer, tool);
        let (sample, cpu, resident) = match transport {
            CallTransport::Stdio(in_flight) => {
                let (server, input, output) =
                    ServerProcess::start_stdio(&mut self.server_command(peer, true)?)?;
                let mut pipes = StdioSession::open(input, output)?;
                pipes.run_calls(name, &arguments, in_flight, WARM_UP)?;
                server.wait_until_idle()?;
                let before = server.live_cpu_seconds()?;
                let sample = pipes.run_calls(name, &arguments, in_flight, calls)?;
                (sample, server.live_cpu_seconds()? - before, server.resident_mb()?)
            }
            CallTransport::Http(connections) => {
                let server = ServerProcess::start_http(&mut self.server_command(peer, false)?)?;
                let address = server.address.clone().context("no address")?;
                load::run_http_calls(
                    &address,
                    name,
                    &arguments,
                    connections,
                    WARM_UP.max(connections),
                )?;
                server.wait_until_idle()?;
                let before = server.live_cpu_seconds()?;
                let sample = load::run_http_calls(&address, name, &arguments, connections, calls)?;
                (sample, server.live_cpu_seconds()? - before, server.resident_mb()?)
            }
        };
        Ok(build_row(tool, transport, peer, &sample, cpu, resident))
    }

    fn call_arguments(&self, peer: CallServer, tool: &str) -> (&'static str, Value) {
        match (peer, tool) {
            (CallServer::Filesystem, _) => {
                ("read_text_file", json!({"path": self.folder().join("file.txt")}))
            }
            (_, "hello") => ("hello", json!({"name": "bench"})),
            _ => ("read_repo_file", json!({"path": "file.txt"})),
        }
    }

    fn server_command(&self, peer: CallServer, stdio: bool) -> Result<Command> {
        let mut command = match peer {
            CallServer::Vouch | CallServer::Before => {
                let before = self.before.as_ref().filter(|_| peer == CallServer::Before);
                let vouch = before.map_or_else(|| binary_path("vouch"), |it| it.join("vouch"));
                let mut command = Command::new(vouch);
                command.arg("serve").env("VOUCH_TRUST", "1");
                // Each build has its own audit log and keys.
                let name = if before.is_some() { "before" } else { "vouch" };
                let state = self.folder().join("state").join(name);
                command.env("XDG_STATE_HOME", &state).env("XDG_DATA_HOME", &state);
                command.args(if stdio { &["--stdio"][..] } else { &["--port", "0"] });
                command
            }
            CallServer::Bare => {
                let mut command = Command::new(binary_path("bare_server"));
                command.args(stdio.then_some("--stdio"));
                command
            }
            CallServer::Filesystem => {
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

fn build_row(
    tool: &'static str,
    transport: CallTransport,
    peer: CallServer,
    sample: &LatencySample,
    cpu: f64,
    resident: f64,
) -> CallRow {
    CallRow {
        tool,
        transport: transport.name(),
        peer,
        per_second: sample.per_second(),
        p50: sample.quantile_us(0.5),
        p99: sample.quantile_us(0.99),
        cpu: cpu * 1e6 / sample.calls as f64,
        resident,
    }
}

fn median_row(rounds: Vec<CallRow>) -> CallRow {
    let middle = |pick: fn(&CallRow) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(pick).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    CallRow {
        tool: rounds[0].tool,
        transport: rounds[0].transport.clone(),
        peer: rounds[0].peer,
        per_second: middle(|row| row.per_second),
        p50: middle(|row| row.p50),
        p99: middle(|row| row.p99),
        cpu: middle(|row| row.cpu),
        resident: middle(|row| row.resident),
    }
}

fn format_table(rows: &[CallRow]) -> String {
    let mut out = String::from(
        "| tool | transport | server | calls/s | p50 µs | p99 µs | CPU µs/call | resident MB |\n|---|---|---|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        writeln!(
            out,
            "| {} | {} | {} | {:.0} | {:.0} | {:.0} | {:.1} | {:.1} |",
            row.tool,
            row.transport,
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

/// Formats the goals, each with the measured value.
fn format_verdict(rows: &[CallRow]) -> String {
    let mut out = String::new();
    let mut line = |text: String, met: bool| {
        writeln!(out, "{} {text}", if met { "met   " } else { "MISSED" })
            .expect("writing to a string never fails");
    };
    for row in rows.iter().filter(|row| row.peer == CallServer::Vouch) {
        let same = |peer| {
            rows.iter().find(|other| {
                other.peer == peer && other.tool == row.tool && other.transport == row.transport
            })
        };
        if let Some(bare) = same(CallServer::Bare) {
            let ratio = row.cpu / bare.cpu;
            line(
                format!(
                    "{} over {}: CPU per call {ratio:.2} × bare rmcp (goal 1.3)",
                    row.tool, row.transport
                ),
                ratio <= 1.3,
            );
        }
        if let Some(before) = same(CallServer::Before) {
            let ratio = row.cpu / before.cpu;
            line(
                format!(
                    "{} over {}: CPU per call {ratio:.2} × the earlier build (goal {MAX_COST_RATIO})",
                    row.tool, row.transport
                ),
                ratio <= MAX_COST_RATIO,
            );
        }
        if let Some(peer) = same(CallServer::Filesystem) {
            let ratio = row.per_second / peer.per_second;
            line(
                format!(
                    "{} over {}: {ratio:.1} × the calls of server-filesystem (goal 5)",
                    row.tool, row.transport
                ),
                ratio >= 5.0,
            );
        }
    }
    let most = rows
        .iter()
        .filter(|row| row.peer == CallServer::Vouch)
        .map(|row| row.resident)
        .fold(0.0, f64::max);
    line(format!("at most {most:.1} MB resident (goal 30)"), most < 30.0);
    out
}
