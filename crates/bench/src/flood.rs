//! Clients at work while strangers hold connections and open sessions: their latency with and without, in one run.

use std::fs;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use xtask::command::run as run_command;

use crate::dist::{binary_path, build_command};
use crate::load::{self, LatencySample};
use crate::process::{BENCH_TOKEN, ServerProcess};

/// Settings of the server: short enough that everything is released within the run. The calls are not rate-limited.
const CONFIG: &str = "[tools.hello]\nrate_per_minute = 100000000\n\
    [limits]\nsession_idle_timeout_ms = 5000\n[http]\nidle_timeout_ms = 5000\n";
/// Values of `max_connections` that are measured: the default, and one that keeps all connections of the flood open.
const MAX_CONNECTIONS: [usize; 2] = [1024, 8192];
/// Metrics after the flood: the connection of the request for them, and the memory of that request.
const RELEASED: [&str; 3] =
    ["vouch_connections_open 1", "vouch_sessions_open 0", "vouch_http_memory_bytes 32768"];
/// Default of `[limits] sessions`.
const MAX_SESSIONS: usize = 1024;
/// Time for the server to release what strangers used.
const RELEASE_LIMIT: Duration = Duration::from_secs(60);
/// Growth of memory that is allowed during the flood, without that of its connections and sessions.
const MEMORY_SLACK_MB: f64 = 48.0;
/// Growth of memory that is allowed for each connection or session at its limit.
const MEMORY_FOR_EACH_KB: f64 = 16.0;
/// Growth of memory that is allowed afterwards: what the allocator keeps.
const KEPT_MEMORY_MB: f64 = 32.0;
/// Pause between two connections of strangers, so that the generator does not take the processor of the server.
const OPEN_PAUSE: Duration = Duration::from_micros(500);

#[derive(clap::Args)]
pub(crate) struct FloodArgs {
    /// Connections that send nothing
    #[arg(long, default_value_t = 5000)]
    idle: usize,
    /// Connections that send half of a request
    #[arg(long, default_value_t = 1000)]
    half_open: usize,
    /// Clients that work
    #[arg(long, default_value_t = 32)]
    clients: usize,
    /// Calls of each round; there are two rounds without and two with the flood
    #[arg(long, default_value_t = 20_000)]
    calls: usize,
    /// Value of `max_connections` to measure, instead of 1024 and then 8192
    #[arg(long, value_name = "N")]
    max_connections: Option<usize>,
    /// Fail if the p99 with the flood is more than this many times the one without
    #[arg(long)]
    max_ratio: Option<f64>,
    /// Server to measure, instead of the one that is built
    #[arg(long, value_name = "PATH")]
    vouch: Option<PathBuf>,
}

/// What the flood did and saw.
#[derive(Default)]
struct FloodCounts {
    opened: AtomicUsize,
    sessions: AtomicUsize,
    refused_sessions: AtomicUsize,
    probes: AtomicUsize,
    failed_probes: AtomicUsize,
}

pub(crate) fn run_flood_bench(args: &FloodArgs) -> Result<()> {
    raise_descriptor_limit(args.idle + args.half_open + 256)?;
    let vouch = match &args.vouch {
        Some(path) => path.clone(),
        None => {
            run_command(build_command(&["-p", "cli"]))?;
            binary_path("vouch")
        }
    };
    let settings = args.max_connections.map_or(MAX_CONNECTIONS.to_vec(), |only| vec![only]);
    settings.iter().try_for_each(|max| measure_flood(args, &vouch, *max))
}

fn measure_flood(args: &FloodArgs, vouch: &Path, max_connections: usize) -> Result<()> {
    println!("max_connections = {max_connections}");
    let folder = tempfile::tempdir()?;
    let config = format!("{CONFIG}max_connections = {max_connections}\n");
    fs::write(folder.path().join("vouch.toml"), config)?;
    let server = start_server(vouch, folder.path())?;
    let address = server.address.clone().context("the server has no address")?;
    let work = || load::run_http_calls(&address, "hello", &json!({}), args.clients, args.calls);
    work()?;
    wait_for_descriptors(&server, 64)?;
    let before = Usage::read(&server)?;

    let counts = FloodCounts::default();
    let mut without = vec![work()?];
    let (mut with, mut during) = (Vec::new(), before);
    for _ in 0..2 {
        let stop = AtomicBool::new(false);
        let latencies = std::thread::scope(|scope| -> Result<LatencySample> {
            scope.spawn(|| hold_connections(&address, args, &counts, &stop));
            scope.spawn(|| open_sessions(&address, &counts, &stop));
            scope.spawn(|| probe_health(&address, &counts, &stop));
            let target = args.idle + args.half_open;
            let round = counts.opened.load(Ordering::Relaxed);
            while counts.opened.load(Ordering::Relaxed) < round + target {
                std::thread::sleep(Duration::from_millis(5));
            }
            let measured = work();
            during = during.max(Usage::read(&server)?);
            stop.store(true, Ordering::Relaxed);
            measured
        })?;
        with.push(latencies);
        wait_for_descriptors(&server, before.descriptors + 40)?;
        without.push(work()?);
    }
    wait_for_descriptors(&server, before.descriptors)?;
    wait_for_release(&address)?;
    let after = Usage::read(&server)?;
    let ratio = report(args, &without, &with, &counts, [before, during, after]);
    let failed = counts.failed_probes.load(Ordering::Relaxed);
    ensure!(failed == 0, "{failed} health checks failed during the flood");
    ensure!(counts.sessions.load(Ordering::Relaxed) > 0, "no session was opened");
    let each = (max_connections + MAX_SESSIONS) as f64 * MEMORY_FOR_EACH_KB / 1024.0;
    let (growth, bound) = (during.resident_mb - before.resident_mb, MEMORY_SLACK_MB + each);
    println!("growth of memory during the flood: {growth:.1} MB (bound {bound:.1} MB)");
    ensure!(growth <= bound, "memory grew by {growth:.1} MB, over its bound of {bound:.1} MB");
    let kept = after.resident_mb - before.resident_mb;
    ensure!(kept <= KEPT_MEMORY_MB, "{kept:.1} MB of memory are not released");
    if let Some(limit) = args.max_ratio {
        ensure!(ratio <= limit, "the p99 with the flood is {ratio:.2} times the one without");
    }
    Ok(())
}

/// Raises the limit of descriptors of this process and of the server, which inherits it, as far as the system allows.
fn raise_descriptor_limit(needed: usize) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    let most = limit.maximum.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    ensure!(most >= needed, "the flood needs {needed} descriptors; the hard limit is {most}");
    Ok(())
}

fn start_server(vouch: &Path, folder: &Path) -> Result<ServerProcess> {
    let mut command = Command::new(vouch);
    command.args(["serve", "--port", "0", "--packs", "repo"]).current_dir(folder);
    command.env("XDG_STATE_HOME", folder.join("state")).env("VOUCH_TRUST", "1");
    ServerProcess::start_http(&mut command)
}

/// Memory and descriptors of the server.
#[derive(Clone, Copy, Debug)]
struct Usage {
    resident_mb: f64,
    descriptors: usize,
}

impl Usage {
    fn read(server: &ServerProcess) -> Result<Self> {
        let descriptors = fs::read_dir(format!("/proc/{}/fd", server.id()))?.count();
        Ok(Self { resident_mb: server.resident_mb()?, descriptors })
    }

    fn max(self, other: Self) -> Self {
        Self {
            resident_mb: self.resident_mb.max(other.resident_mb),
            descriptors: self.descriptors.max(other.descriptors),
        }
    }
}

fn wait_for_descriptors(server: &ServerProcess, most: usize) -> Result<()> {
    let start = Instant::now();
    while Usage::read(server)?.descriptors > most {
        ensure!(
            start.elapsed() < RELEASE_LIMIT,
            "the server still has {} descriptors; expected at most {most}",
            Usage::read(server)?.descriptors
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Waits until nothing is left of what strangers held.
fn wait_for_release(address: &str) -> Result<()> {
    let request = format!(
        "GET /metrics HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {BENCH_TOKEN}\r\nConnection: close\r\n\r\n"
    );
    let start = Instant::now();
    loop {
        let metrics = exchange(address, request.as_bytes()).context("no answer of /metrics")?;
        let held: Vec<_> =
            RELEASED.iter().filter(|line| !metrics.lines().any(|one| one == **line)).collect();
        if held.is_empty() {
            return Ok(());
        }
        ensure!(start.elapsed() < RELEASE_LIMIT, "the metrics never have {held:?}:\n{metrics}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Opens all connections of strangers, and opens one again whenever the server closed it, until the round ends.
fn hold_connections(address: &str, args: &FloodArgs, counts: &FloodCounts, stop: &AtomicBool) {
    let mut held: Vec<Option<TcpStream>> = Vec::new();
    held.resize_with(args.idle + args.half_open, || None);
    while !stop.load(Ordering::Relaxed) {
        for (number, slot) in held.iter_mut().enumerate() {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            if slot.as_ref().is_some_and(is_open) {
                continue;
            }
            *slot = TcpStream::connect(address).ok();
            if let Some(stream) = slot {
                if number >= args.idle {
                    let _ = stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-");
                }
                let _ = stream.set_nonblocking(true);
            }
            counts.opened.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(OPEN_PAUSE);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_open(mut stream: &TcpStream) -> bool {
    let mut byte = [0];
    matches!(stream.read(&mut byte), Err(error) if error.kind() == ErrorKind::WouldBlock)
}

/// Sends `initialize` on one connection after the other, as fast as the server answers, until the round ends.
fn open_sessions(address: &str, counts: &FloodCounts, stop: &AtomicBool) {
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "flood", "version": "1"},
    }})
    .to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nAuthorization: Bearer {BENCH_TOKEN}\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    while !stop.load(Ordering::Relaxed) {
        match exchange(address, request.as_bytes()) {
            Some(answer) if answer.starts_with("HTTP/1.1 200") => &counts.sessions,
            _ => &counts.refused_sessions,
        }
        .fetch_add(1, Ordering::Relaxed);
    }
}

/// Asks `/healthz` on a new connection ten times a second.
fn probe_health(address: &str, counts: &FloodCounts, stop: &AtomicBool) {
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    while !stop.load(Ordering::Relaxed) {
        counts.probes.fetch_add(1, Ordering::Relaxed);
        let answer = exchange(address, request.as_bytes());
        if !answer.is_some_and(|answer| answer.starts_with("HTTP/1.1 200")) {
            counts.failed_probes.fetch_add(1, Ordering::Relaxed);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn exchange(address: &str, request: &[u8]) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    stream.write_all(request).ok()?;
    let mut answer = Vec::new();
    BufReader::new(stream).read_to_end(&mut answer).ok()?;
    Some(String::from_utf8_lossy(&answer).into_owned())
}

/// Prints the results and returns the ratio of the p99 values, each the best of its rounds.
fn report(
    args: &FloodArgs,
    without: &[LatencySample],
    with: &[LatencySample],
    counts: &FloodCounts,
    [before, during, after]: [Usage; 3],
) -> f64 {
    let row = |name: &str, samples: &[LatencySample]| {
        let best = |share| {
            let values = samples.iter().map(|sample| sample.quantile_us(share) / 1000.0);
            values.fold(f64::INFINITY, f64::min)
        };
        let rounds: Vec<_> = samples
            .iter()
            .map(|sample| format!("{:.2}", sample.quantile_us(0.99) / 1000.0))
            .collect();
        println!(
            "{name:<8} p50 {:>7.2} ms  p99 {:>7.2} ms  (p99 of each round: {})",
            best(0.5),
            best(0.99),
            rounds.join(", ")
        );
        best(0.99)
    };
    println!(
        "{} clients; flood: {} idle and {} half-open connections, sessions until the end",
        args.clients, args.idle, args.half_open
    );
    let quiet = row("without", without);
    let flooded = row("with", with);
    let ratio = flooded / quiet;
    println!("ratio of p99: {ratio:.2} (goal: at most 2)");
    let count = |value: &AtomicUsize| value.load(Ordering::Relaxed);
    println!(
        "connections opened by strangers: {}; sessions opened {}, refused {}; health checks {}, failed {}",
        count(&counts.opened),
        count(&counts.sessions),
        count(&counts.refused_sessions),
        count(&counts.probes),
        count(&counts.failed_probes),
    );
    for (name, usage) in [("before", before), ("during", during), ("after", after)] {
        println!(
            "{name:<8} memory {:>7.1} MB  descriptors {:>5}",
            usage.resident_mb, usage.descriptors
        );
    }
    ratio
}
