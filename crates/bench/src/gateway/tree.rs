//! What a gateway and the processes it started use, without the servers behind it; and that all of them end.
//!
//! Read from `/proc`, so on Linux only, as the rest of the bench.

use std::collections::HashMap;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::process::{Server, cpu_seconds, resident_mb};

/// A server and everything below it. Ends with this value.
pub(super) struct Tree {
    pub(super) server: Server,
    /// Command lines of the servers behind it, to tell them from its own.
    upstream: Vec<String>,
}

/// What a tree of processes uses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// Seconds of processor time, without the servers behind.
    pub(super) cpu: f64,
    /// Megabytes of memory, without the servers behind.
    pub(super) own_mb: f64,
    /// Megabytes of memory of the servers behind, where it started them.
    pub(super) upstream_mb: f64,
}

impl Tree {
    /// `upstream` is the command line with which the servers behind are started; empty where they are not.
    pub(super) fn new(server: Server, upstream: &[String]) -> Self {
        Self { server, upstream: upstream.to_vec() }
    }

    pub(super) fn usage(&self) -> Result<Usage> {
        let root = self.server.id();
        let mut usage =
            Usage { cpu: cpu_seconds(root)?, own_mb: resident_mb(root)?, upstream_mb: 0.0 };
        for pid in below(root) {
            // A process may end while it is looked at.
            let (Ok(cpu), Ok(resident)) = (cpu_seconds(pid), resident_mb(pid)) else { continue };
            if self.is_upstream(pid) {
                usage.upstream_mb += resident;
            } else {
                usage.cpu += cpu;
                usage.own_mb += resident;
            }
        }
        Ok(usage)
    }

    /// The program may be named in another way than it was started, so only its arguments are compared. A shell that
    /// was given the line as one argument is not the server.
    fn is_upstream(&self, pid: u32) -> bool {
        self.upstream.len() > 1 && arguments(pid).get(1..) == Some(&self.upstream[1..])
    }
}

impl Drop for Tree {
    /// Peers killed this way leave their children behind.
    fn drop(&mut self) {
        let left: Vec<(u32, Vec<String>)> =
            below(self.server.id()).into_iter().map(|pid| (pid, arguments(pid))).collect();
        self.server.stop();
        for (pid, before) in left {
            // A number may be another process by now.
            if !before.is_empty() && arguments(pid) == before {
                let mut kill = Command::new("kill");
                kill.args(["-KILL", &pid.to_string()]).stderr(Stdio::null());
                let _ = kill.status();
            }
        }
    }
}

/// All that a process started, and what those started.
fn below(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = children.remove(&root).unwrap_or_default();
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        found.extend(children.remove(pid).unwrap_or_default());
        next += 1;
    }
    found
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name may hold spaces and brackets; the fields after it may not.
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

fn arguments(pid: u32) -> Vec<String> {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split_terminator('\0').map(str::to_owned).collect()
}
