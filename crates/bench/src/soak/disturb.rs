//! The disturbances of the soak: reloads, restarts of the upstream, and a full disk.

use std::fmt;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::process::ServerProcess;

/// Time between two steps, each of which reloads.
const STEP: Duration = Duration::from_secs(10);
/// Time for which the disk is full.
const FULL_TIME: Duration = Duration::from_secs(5);
/// Time for the server to become ready after a disturbance, or to notice it.
const READY_LIMIT: Duration = Duration::from_secs(60);

/// Folder of the upstream's project, beside that of the gateway.
pub(super) const UPSTREAM_FOLDER: &str = "upstream";

/// Configuration of the upstream: its own rate limit is not tested.
pub(super) const UPSTREAM_CONFIG: &str =
    "[tools.read_repo_file]\nrate_per_minute = 100000000\ntimeout_ms = 60000\n";

/// Writes the configuration. Different numbers give different limits.
pub(super) fn write_config(root: &Path, vouch: &Path, number: usize) -> Result<()> {
    let rate = 1_000_000 + number;
    let tables: Vec<_> = ["read_repo_file", "write_memory_entry", "up__read_repo_file"]
        .iter()
        // A time limit that no call reaches: the machine may be busy, and an upstream takes a while to start.
        .map(|tool| format!("[tools.{tool}]\nrate_per_minute = {rate}\ntimeout_ms = 60000\n"))
        .collect();
    let base = root.parent().unwrap_or(root);
    // A project of its own: a new limit in this file would change the definitions of its tools.
    let upstream = base.join(UPSTREAM_FOLDER).display().to_string();
    let text = format!(
        "[policy]\napprove = \"always\"\n{}\n[[upstream]]\nname = \"up\"\ncommand = {:?}\n\
         args = [\"--root\", {upstream:?}, \"serve\", \"--stdio\", \"--packs\", \"repo\", \"--trust\"]\nsandbox = \"off\"\n\
         env = {{ PATH = \"/usr/bin:/bin\", HOME = {:?}, XDG_STATE_HOME = {:?} }}\n",
        tables.join(""),
        vouch.display().to_string(),
        base.display().to_string(),
        base.join("upstream-state").display().to_string(),
    );
    // Replaced as a whole, as an editor does.
    fs::write(root.join("vouch.toml.new"), text)?;
    Ok(fs::rename(root.join("vouch.toml.new"), root.join("vouch.toml"))?)
}

/// The disturbances, in an order that the seed decides.
pub(super) struct Disturbances {
    random: u64,
    vouch: PathBuf,
    root: PathBuf,
    state: PathBuf,
    pid: u32,
    address: String,
    reloads: usize,
    invalid_reloads: usize,
    restarts: usize,
    full_disks: usize,
}

impl Disturbances {
    pub(super) fn new(
        seed: u64,
        vouch: &Path,
        root: &Path,
        state: &Path,
        server: &ServerProcess,
        address: &str,
    ) -> Self {
        Self {
            random: seed.max(1),
            vouch: vouch.to_owned(),
            root: root.to_owned(),
            state: state.to_owned(),
            pid: server.id(),
            address: address.to_owned(),
            reloads: 0,
            invalid_reloads: 0,
            restarts: 0,
            full_disks: 0,
        }
    }

    /// Reloads, and restarts the upstream or fills the disk or does neither. Errors unless the server is ready afterwards.
    pub(super) fn step(&mut self) -> Result<()> {
        self.disturb()?;
        self.settle()
    }

    fn disturb(&mut self) -> Result<()> {
        self.reload()?;
        match self.next_random() % 3 {
            0 => {
                self.restart_upstream();
                std::thread::sleep(STEP);
            }
            1 => {
                self.fill_disk()?;
                std::thread::sleep(STEP.saturating_sub(FULL_TIME));
            }
            _ => std::thread::sleep(STEP),
        }
        Ok(())
    }

    /// Waits until the server is ready.
    pub(super) fn settle(&self) -> Result<()> {
        self.ensure_alive()?;
        wait_for_readiness(&self.address, 200)
    }

    /// Reloads a valid configuration, or sometimes an invalid one, which must change nothing.
    fn reload(&mut self) -> Result<()> {
        self.ensure_alive()?;
        if self.next_random().is_multiple_of(4) {
            fs::write(self.root.join("vouch.toml"), "[policy\n")?;
            self.invalid_reloads += 1;
        } else {
            write_config(&self.root, &self.vouch, self.reloads)?;
            self.reloads += 1;
        }
        self.send_signal("-HUP", self.pid);
        Ok(())
    }

    fn restart_upstream(&mut self) {
        // The last descendant is the server itself; the others supervise it.
        if let Some(pid) = list_descendants(self.pid).into_iter().next_back() {
            self.send_signal("-KILL", pid);
            self.restarts += 1;
        }
    }

    fn fill_disk(&mut self) -> Result<()> {
        let filler = path_in_server(self.pid, &self.state).join("filler");
        let mut file = File::create(&filler)?;
        let block = vec![0; 64 * 1024];
        while file.write_all(&block).is_ok() {}
        while file.write_all(&block[..512]).is_ok() {}
        self.full_disks += 1;
        let start = Instant::now();
        wait_for_readiness(&self.address, 503)?;
        std::thread::sleep(FULL_TIME.saturating_sub(start.elapsed()));
        drop(file);
        Ok(fs::remove_file(filler)?)
    }

    fn ensure_alive(&self) -> Result<()> {
        let is_alive = Path::new("/proc").join(self.pid.to_string()).join("fd").exists();
        ensure!(is_alive, "the server ended");
        Ok(())
    }

    fn send_signal(&self, signal: &str, pid: u32) {
        let _ = Command::new("kill").args([signal, &pid.to_string()]).status();
    }

    /// Returns the next number of a xorshift generator.
    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

impl fmt::Display for Disturbances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "disturbances: {} reloads, {} invalid ones, {} restarts of the upstream, {} full disks of {} s",
            self.reloads,
            self.invalid_reloads,
            self.restarts,
            self.full_disks,
            FULL_TIME.as_secs()
        )
    }
}

/// Returns the path of a file in the mount namespace of the server.
pub(super) fn path_in_server(pid: u32, path: &Path) -> PathBuf {
    let root = Path::new("/proc").join(pid.to_string()).join("root");
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Waits until `/readyz` answers with this status.
pub(super) fn wait_for_readiness(address: &str, status: u16) -> Result<()> {
    let start = Instant::now();
    loop {
        let answer = ask_for_readiness(address)?;
        if answer.split(' ').nth(1) == Some(&status.to_string()) {
            return Ok(());
        }
        ensure!(start.elapsed() < READY_LIMIT, "/readyz does not answer {status}, but: {answer}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn ask_for_readiness(address: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address).context("failed to connect")?;
    stream.set_read_timeout(Some(READY_LIMIT))?;
    write!(stream, "GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("failed to read the answer of /readyz")?;
    Ok(answer)
}

/// Returns the processes below a process, parents before children.
pub(super) fn list_descendants(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut open = vec![pid];
    while let Some(parent) = open.pop() {
        let Ok(tasks) = fs::read_dir(format!("/proc/{parent}/task")) else { continue };
        for task in tasks.flatten() {
            let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children = text.split_whitespace().filter_map(|word| word.parse().ok());
            for child in children {
                found.push(child);
                open.push(child);
            }
        }
    }
    found
}
