//! A server process under load: starts it, reads its usage from `/proc`, and kills it on drop.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Unit of `/proc/<pid>/stat`: USER_HZ is 100 on every supported Linux.
const TICKS_PER_SECOND: f64 = 100.0;
/// Time limit for a server to listen; a Python server takes seconds to import its modules.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Token that servers over HTTP require and clients send. Other servers ignore both.
pub(crate) const BENCH_TOKEN: &str = "bench-0123456789abcdef0123456789abcdef";

pub(crate) struct ServerProcess {
    child: Child,
    /// Address it listens on, if it serves HTTP.
    pub(crate) address: Option<String>,
}

impl ServerProcess {
    /// Starts a stdio server and returns its pipes.
    pub(crate) fn start_stdio(
        command: &mut Command,
    ) -> Result<(Self, ChildStdin, BufReader<ChildStdout>)> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("failed to start {command:?}"))?;
        let input = child.stdin.take().context("the server has no standard input")?;
        let output = child.stdout.take().context("the server has no standard output")?;
        Ok((Self { child, address: None }, input, BufReader::new(output)))
    }

    /// Starts an HTTP server that prints its address on stderr.
    pub(crate) fn start_http(command: &mut Command) -> Result<Self> {
        let mut child = command
            .env("VOUCH_TOKEN", BENCH_TOKEN)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("failed to start {command:?}"))?;
        let errors = child.stderr.take().context("the server has no standard error")?;
        let mut lines = BufReader::new(errors).lines();
        let mut said = String::new();
        for line in lines.by_ref() {
            let line = line?;
            if let Some(rest) = line.split("http://").nth(1)
                && let Some(address) = rest.split("/mcp").next()
            {
                let address = Some(address.to_owned());
                // Keep reading, or the server blocks once the pipe is full.
                std::thread::spawn(move || lines.for_each(drop));
                return Ok(Self { child, address });
            }
            said.push_str(&line);
            said.push('\n');
        }
        bail!("the server ended before it listened; its output:\n{said}")
    }

    /// Starts an HTTP server that was given its port, and waits until it listens. Its output goes to `log`.
    pub(crate) fn start_on_port(command: &mut Command, port: u16, log: &Path) -> Result<Self> {
        let file = File::create(log)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("failed to start {command:?}"))?;
        let address = format!("127.0.0.1:{port}");
        let mut server = Self { child, address: Some(address.clone()) };
        let start = Instant::now();
        while TcpStream::connect(&address).is_err() {
            let ended = server.child.try_wait()?.is_some();
            if ended || start.elapsed() > START_LIMIT {
                let said = fs::read_to_string(log).unwrap_or_default();
                bail!("no server listens on {address}; its output:\n{said}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the process to end.
    pub(crate) fn wait(&mut self) -> Result<()> {
        self.child.wait().context("failed to wait for the server")?;
        Ok(())
    }

    /// Kills the process; no-op if it has ended.
    pub(crate) fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Returns the processor time of all its threads in seconds.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        cpu_seconds(self.id())
    }

    /// Like [`ServerProcess::cpu_seconds`], exact but without threads that have ended.
    pub(crate) fn live_cpu_seconds(&self) -> Result<f64> {
        live_cpu_seconds(self.id())
    }

    /// Waits until the process uses no more processor time, for at most 10 seconds: work after the start, such as an
    /// index, would count as work for calls.
    pub(crate) fn wait_until_idle(&self) -> Result<()> {
        let mut before = self.live_cpu_seconds()?;
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(100));
            let now = self.live_cpu_seconds()?;
            if now - before < 0.001 {
                break;
            }
            before = now;
        }
        Ok(())
    }

    /// Returns its resident memory in megabytes.
    pub(crate) fn resident_mb(&self) -> Result<f64> {
        resident_mb(self.id())
    }
}

/// Returns the processor time of all threads of a process in seconds, in ticks of 10 ms.
pub(crate) fn cpu_seconds(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The command name may hold spaces; the fields after it may not.
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| -> Result<f64> {
        Ok(fields.get(index).context("a field of /proc/pid/stat is missing")?.parse()?)
    };
    Ok((ticks(11)? + ticks(12)?) / TICKS_PER_SECOND)
}

/// Returns the processor time of the running threads of a process in seconds. Unlike [`cpu_seconds`], it is exact, but it lacks
/// threads that have ended.
pub(crate) fn live_cpu_seconds(pid: u32) -> Result<f64> {
    let mut nanoseconds = 0.0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end meanwhile.
        let Ok(text) = fs::read_to_string(thread?.path().join("schedstat")) else { continue };
        let time = text.split_whitespace().next().context("invalid schedstat: no time")?;
        nanoseconds += time.parse::<f64>()?;
    }
    Ok(nanoseconds / 1e9)
}

/// Returns the resident memory of a process in megabytes.
pub(crate) fn resident_mb(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    let kilobytes: f64 = line.split_whitespace().nth(1).context("no figure")?.parse()?;
    Ok(kilobytes / 1024.0)
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.stop();
    }
}
