//! Starting the adversary, the scripted MCP server of this package.
//!
//! `adversary --help` lists its switches; each of its tools misbehaves in one way, named after it.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::programs::find_program;

/// The command that starts the adversary, program first: over stdio unless `--http` is among the arguments.
///
/// # Panics
///
/// If the program cannot be built.
pub fn adversary_command<S: AsRef<str>>(args: impl IntoIterator<Item = S>) -> Vec<String> {
    let path = find_program("adversary", "ADVERSARY_BIN");
    let program = path.to_str().expect("the path of the target folder is text").to_owned();
    [program].into_iter().chain(args.into_iter().map(|arg| arg.as_ref().to_owned())).collect()
}

/// An adversary that serves HTTP. It is killed when this is dropped.
#[derive(Debug)]
pub struct Served {
    /// `http://127.0.0.1:PORT/mcp`.
    pub url: String,
    child: Child,
}

impl Served {
    /// Starts one with these arguments and `--http`, and waits for its address.
    ///
    /// # Panics
    ///
    /// If it does not start.
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
        let url = line.expect("stdout can be read").expect("the adversary says where it listens");
        Self { url, child }
    }

    /// The port, for a successor that is to be found at the same place (`--port`).
    pub fn port(&self) -> &str {
        let address = self.url.trim_start_matches("http://127.0.0.1:");
        address.trim_end_matches("/mcp")
    }

    /// Kills it and waits until it is gone.
    pub async fn stop(mut self) {
        self.child.kill().await.expect("the adversary can be killed");
    }
}
