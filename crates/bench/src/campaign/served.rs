//! A campaign with a door for agents, and connections to it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::fuzz::subjects::Subject;
use crate::fuzz::tools::vouch_binary;
use crate::load::Connection;

pub(super) struct Served {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// Such as `127.0.0.1:8378`.
    address: String,
    /// Its corpus, and where it runs: the audit log goes below.
    _folder: TempDir,
}

impl Served {
    pub(super) fn start(subject: &Subject, flags: &[&str]) -> Result<Self> {
        let folder = TempDir::new()?;
        let mut vouch = Command::new(vouch_binary());
        vouch.arg("fuzz").arg(subject.build()).args(["--contract", &subject.contract, "--json"]);
        vouch.args(["--mcp-port", "0", "--corpus-dir", "corpus"]).args(flags);
        vouch.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = vouch.current_dir(folder.path()).spawn().context("cannot start vouch")?;
        let mut stderr = BufReader::new(child.stderr.take().context("its standard error")?);
        let mut said = String::new();
        let address = loop {
            ensure!(stderr.read_line(&mut said)? > 0, "vouch ended early: {said}");
            if let Some((_, rest)) = said.split_once("http://") {
                break rest.split('/').next().unwrap_or_default().to_owned();
            }
        };
        Ok(Self { child, stderr, address, _folder: folder })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(super) fn connect(&self) -> Result<Client> {
        Ok(Client { connection: Connection::open(&self.address)? })
    }

    /// Waits for its end; what it says of itself.
    pub(super) fn results(mut self) -> Result<Value> {
        let mut said = String::new();
        let mut stdout = self.child.stdout.take().context("its standard output")?;
        let mut results = String::new();
        stdout.read_to_string(&mut results)?;
        self.stderr.read_to_string(&mut said)?;
        self.child.wait()?;
        serde_json::from_str(&results).with_context(|| format!("vouch wrote no JSON: {said}"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // One that has ended cannot be killed, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) struct Client {
    connection: Connection,
}

impl Client {
    /// The answer, and how long it took.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, Value)> {
        self.connection.call(tool, arguments).with_context(|| format!("calling {tool}"))
    }

    /// Calls that the campaign has made.
    pub(super) fn calls(&mut self) -> Result<f64> {
        let (_, status) = self.call("campaign_status", &serde_json::json!({}))?;
        status["calls"].as_f64().context("campaign_status does not say how many calls there were")
    }
}
