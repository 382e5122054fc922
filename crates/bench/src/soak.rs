//! A gateway under reloads, upstream restarts and a full disk: counts wrong answers, measures leaks, and verifies the audit
//! log.
//!
//! The state folder is a small tmpfs in a mount namespace of the server, so no privileges are needed. It is filled
//! through `/proc/<pid>/root`.

mod calls;
mod disturb;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::command::run as run_command;

use self::calls::CallCounts;
use self::disturb::{Disturbances, list_descendants};
use crate::dist::{binary_path, build_command};
use crate::process::{ServerProcess, resident_mb};

/// Threads that call tools.
const CALLERS: usize = 4;
/// Size of the disk of the state folder.
const DISK_SIZE: &str = "64m";
/// Growth of memory after the first tenth of the run that counts as a leak.
const MEMORY_SLACK_MB: f64 = 48.0;
/// Growth of descriptors that counts as a leak: connections of callers and of the reload may be open.
const DESCRIPTOR_SLACK: usize = 16;

#[derive(clap::Args)]
pub(crate) struct SoakArgs {
    /// Length of the run
    #[arg(long, default_value_t = 20.0)]
    minutes: f64,
    /// Seed of the order of disturbances
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Server to run, instead of the one that is built
    #[arg(long, value_name = "PATH")]
    vouch: Option<PathBuf>,
}

/// What the server uses.
#[derive(Clone, Copy, Debug)]
struct SoakUsage {
    resident_mb: f64,
    descriptors: usize,
    processes: usize,
}

pub(crate) fn run_soak(args: &SoakArgs) -> Result<()> {
    let vouch = match &args.vouch {
        Some(path) => path.canonicalize()?,
        None => {
            run_command(build_command(&["-p", "cli"]))?;
            binary_path("vouch")
        }
    };
    let folder = tempfile::tempdir()?;
    let (root, state) = (folder.path().join("project"), folder.path().join("state"));
    let data = folder.path().join("data");
    fs::create_dir_all(&state)?;
    for project in [&root, &folder.path().join(disturb::UPSTREAM_FOLDER)] {
        fs::create_dir_all(project)?;
        fs::write(project.join("known.txt"), calls::KNOWN_TEXT)?;
    }
    let upstream = folder.path().join(disturb::UPSTREAM_FOLDER);
    fs::write(upstream.join("vouch.toml"), disturb::UPSTREAM_CONFIG)?;
    disturb::write_config(&root, &vouch, 0)?;
    let server = start_server(&vouch, &root, &state, &data)?;
    let address = server.address.clone().context("the server has no address")?;
    disturb::wait_for_readiness(&address, 200)?;
    let (counts, stop) = (CallCounts::default(), AtomicBool::new(false));
    let length = Duration::from_secs_f64(args.minutes * 60.0);
    let (first, last) = std::thread::scope(|scope| -> Result<(SoakUsage, SoakUsage)> {
        for caller in 0..CALLERS {
            let (address, counts, stop) = (&address, &counts, &stop);
            scope.spawn(move || calls::run_caller(address, caller, counts, stop));
        }
        let mut disturbances =
            Disturbances::new(args.seed, &vouch, &root, &state, &server, &address);
        let measured = run_disturbances(&mut disturbances, &server, length);
        stop.store(true, Ordering::Relaxed);
        println!("{disturbances}");
        measured
    })?;
    counts.print();
    println!("usage after a tenth of the run: {first:?}\nusage at the end:               {last:?}");
    counts.check_memory_file(&root)?;
    let copy = folder.path().join("copied-state");
    copy_state(&server, &state, &copy)?;
    verify_audit_log(&vouch, &root, &copy, &data)?;
    ensure!(counts.wrong() == 0, "{} wrong answers", counts.wrong());
    ensure!(counts.right() > 0, "no call succeeded");
    check_leaks(first, last)
}

/// Disturbs the server until the end. Returns its usage after a tenth of the run, and at the end.
fn run_disturbances(
    disturbances: &mut Disturbances,
    server: &ServerProcess,
    length: Duration,
) -> Result<(SoakUsage, SoakUsage)> {
    let start = Instant::now();
    let mut first = None;
    while start.elapsed() < length {
        disturbances.step()?;
        if first.is_none() && start.elapsed() > length / 10 {
            first = Some(read_usage(server.id())?);
        }
    }
    disturbances.settle()?;
    let last = read_usage(server.id())?;
    Ok((first.unwrap_or(last), last))
}

fn check_leaks(first: SoakUsage, last: SoakUsage) -> Result<()> {
    let growth = last.resident_mb - first.resident_mb;
    ensure!(growth < MEMORY_SLACK_MB, "memory grew by {growth:.1} MB");
    ensure!(
        last.descriptors <= first.descriptors + DESCRIPTOR_SLACK,
        "descriptors grew from {} to {}",
        first.descriptors,
        last.descriptors
    );
    ensure!(
        last.processes <= first.processes + 3,
        "processes grew from {} to {}",
        first.processes,
        last.processes
    );
    Ok(())
}

fn read_usage(pid: u32) -> Result<SoakUsage> {
    Ok(SoakUsage {
        resident_mb: resident_mb(pid)?,
        descriptors: fs::read_dir(format!("/proc/{pid}/fd"))?.count(),
        processes: list_descendants(pid).len(),
    })
}

/// Copies the state of the server, which is not visible outside its mount namespace. No call may be in flight.
fn copy_state(server: &ServerProcess, state: &Path, copy: &Path) -> Result<()> {
    let mut command = Command::new("cp");
    command.arg("-a").arg(disturb::path_in_server(server.id(), state)).arg(copy);
    run_command(command)
}

/// Errors unless the audit log proves all its lines. Intents without an outcome are counted: a full disk leaves some.
fn verify_audit_log(vouch: &Path, root: &Path, state: &Path, data: &Path) -> Result<()> {
    let mut command = Command::new(vouch);
    command.args(["audit", "verify", "--json"]).current_dir(root);
    command.env("XDG_STATE_HOME", state).env("XDG_DATA_HOME", data).env("VOUCH_TRUST", "1");
    let output = command.output().context("failed to start `vouch audit verify`")?;
    let report: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("no report: {}", String::from_utf8_lossy(&output.stderr)))?;
    ensure!(
        report["ok"] == true && report["lines"] != 0,
        "the audit log is not intact: {report:#}"
    );
    println!(
        "audit log: {} lines intact, {} intents without outcome",
        report["lines"], report["unknown"]
    );
    Ok(())
}

/// Starts the gateway in a mount namespace with a small disk for its state. `exec` keeps the process id.
fn start_server(vouch: &Path, root: &Path, state: &Path, data: &Path) -> Result<ServerProcess> {
    let script = format!(
        "mount -t tmpfs -o size={DISK_SIZE} tmpfs \"$1\" && exec \"$0\" gateway --port 0 --packs repo"
    );
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
    command.arg(vouch).arg(state).current_dir(root);
    command.env("XDG_STATE_HOME", state).env("XDG_DATA_HOME", data).env("VOUCH_TRUST", "1");
    ServerProcess::start_http(&mut command)
}
