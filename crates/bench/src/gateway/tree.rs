//! Usage of a gateway and its child processes, without the upstream servers. Kills all of them on drop.
//!
//! Reads `/proc`, so it works on Linux only, like the other benchmarks.

use std::collections::HashMap;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::process::{ServerProcess, live_cpu_seconds, resident_mb};

/// A server process and its descendants, killed on drop.
pub(super) struct ProcessTree {
    pub(super) server: ServerProcess,
    /// Command line of the upstream servers, to distinguish them from the gateway's own processes.
    upstream: Vec<String>,
}

/// Usage of a process tree.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProcessUsage {
    /// Seconds of processor time, without the upstream servers.
    pub(super) cpu: f64,
    /// Megabytes of memory, without the upstream servers.
    pub(super) own_mb: f64,
    /// Megabytes of memory of the upstream servers that it started.
    pub(super) upstream_mb: f64,
}

impl ProcessTree {
    /// `upstream` is the command line of the upstream servers; empty if the gateway does not start them.
    pub(super) fn new(server: ServerProcess, upstream: &[String]) -> Self {
        Self { server, upstream: upstream.to_vec() }
    }

    pub(super) fn usage(&self) -> Result<ProcessUsage> {
        let root = self.server.id();
        let mut usage = ProcessUsage {
            cpu: live_cpu_seconds(root)?,
            own_mb: resident_mb(root)?,
            upstream_mb: 0.0,
        };
        for pid in list_descendants(root) {
            // A process may end at any time.
            let (Ok(cpu), Ok(resident)) = (live_cpu_seconds(pid), resident_mb(pid)) else {
                continue;
            };
            if self.is_upstream(pid) {
                usage.upstream_mb += resident;
            } else {
                usage.cpu += cpu;
                usage.own_mb += resident;
            }
        }
        Ok(usage)
    }

    /// Returns true if a process is an upstream server. Compares only arguments, because the program may have another
    /// name; a shell that got the line as one argument is not the server.
    fn is_upstream(&self, pid: u32) -> bool {
        self.upstream.len() > 1 && read_arguments(pid).get(1..) == Some(&self.upstream[1..])
    }
}

impl Drop for ProcessTree {
    /// Peers killed this way leave their children behind.
    fn drop(&mut self) {
        let left: Vec<(u32, Vec<String>)> = list_descendants(self.server.id())
            .into_iter()
            .map(|pid| (pid, read_arguments(pid)))
            .collect();
        self.server.stop();
        for (pid, before) in left {
            // The process id may have been reused.
            if !before.is_empty() && read_arguments(pid) == before {
                let mut kill = Command::new("kill");
                kill.args(["-KILL", &pid.to_string()]).stderr(Stdio::null());
                let _ = kill.status();
            }
        }
    }
}

/// Returns all descendants of a process.
fn list_descendants(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = read_parent(pid) {
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

fn read_parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name may hold spaces and brackets; the fields after it may not.
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

fn read_arguments(pid: u32) -> Vec<String> {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split_terminator('\0').map(str::to_owned).collect()
}
