//! Starts the adversary, the scripted MCP server of this package.
//!
//! `adversary --help` lists its flags. Each of its tools misbehaves in one way and is named after it.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::programs::find_program;

/// Returns the command line that starts the adversary, program first. It serves stdio unless `--http` is among the
/// arguments.
///
/// # Panics
///
/// If the program cannot be built.
pub fn adversary_command<S: AsRef<str>>(args: impl IntoIterator<Item = S>) -> Vec<String> {
    let path = find_program("adversary", "ADVERSARY_BIN");
    let program = path.to_str().expect("the path of the target folder is UTF-8").to_owned();
    [program].into_iter().chain(args.into_iter().map(|arg| arg.as_ref().to_owned())).collect()
}

/// An adversary process that serves HTTP. Dropping it kills the process.
#[derive(Debug)]
pub struct HttpAdversary {
    /// `http://127.0.0.1:PORT/mcp`.
    pub url: String,
    child: Child,
}

impl HttpAdversary {
    /// Starts an adversary with these arguments plus `--http`, and waits for its URL.
    ///
    /// # Panics
    ///
    /// If the process does not start.
    pub async fn start(args: &[&str]) -> Self {
        let command = adversary_command(args.iter().copied().chain(["--http"]));
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the adversary can be started");
        let stdout = child.stdout.take().expect("stdout is piped");
        let line = BufReader::new(stdout).lines().next_line().await;
        let url = line.expect("stdout can be read").expect("the adversary prints its URL");
        Self { url, child }
    }

    /// Returns the port, so that a restarted adversary can listen at the same URL (`--port`).
    pub fn port(&self) -> &str {
        let address = self.url.trim_start_matches("http://127.0.0.1:");
        address.trim_end_matches("/mcp")
    }

    /// Kills the process and waits until it has exited.
    pub async fn stop(mut self) {
        self.child.kill().await.expect("the adversary can be killed");
    }
}
