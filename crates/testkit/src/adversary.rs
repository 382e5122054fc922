//! Starting the adversary, the scripted MCP server of this package.
//!
//! `adversary --help` lists its switches; each of its tools misbehaves in one way, named after it.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// The command that starts the adversary, program first: over stdio unless `--http` is among the arguments.
///
/// # Panics
///
/// If the binary was not built; the text says how to build it.
pub fn adversary_command<S: AsRef<str>>(args: impl IntoIterator<Item = S>) -> Vec<String> {
    let path = binary();
    assert!(
        path.is_file(),
        "{} is missing: run `cargo build -p testkit` (`--no-default-features --bin adversary` is quicker)",
        path.display()
    );
    let program = path.to_str().expect("the path of the target folder is text").to_owned();
    [program].into_iter().chain(args.into_iter().map(|arg| arg.as_ref().to_owned())).collect()
}

/// Named by `ADVERSARY_BIN`, or beside the test: a test is `target/debug/deps/NAME-HASH`, a program one folder higher.
fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("ADVERSARY_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().expect("a running test has a path");
    let folder = test.ancestors().skip(1).find(|folder| !folder.ends_with("deps"));
    folder
        .expect("the test is in a folder")
        .join(format!("adversary{}", std::env::consts::EXE_SUFFIX))
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
