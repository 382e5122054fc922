//! A campaign that serves its tools over HTTP, and clients of it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::fuzz::subjects::FuzzSubject;
use crate::fuzz::tools::vouch_binary;
use crate::load::HttpConnection;
use crate::process::BENCH_TOKEN;

pub(super) struct ServedCampaign {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// Such as `127.0.0.1:8378`.
    address: String,
    /// Working folder, with the corpus and the audit log.
    _folder: TempDir,
}

impl ServedCampaign {
    pub(super) fn start(subject: &FuzzSubject, flags: &[&str]) -> Result<Self> {
        let folder = TempDir::new()?;
        let mut vouch = Command::new(vouch_binary());
        vouch.arg("fuzz").arg(subject.build_path()).args([
            "--contract",
            &subject.contract,
            "--json",
        ]);
        vouch.args(["--mcp-port", "0", "--corpus-dir", "corpus"]).args(flags);
        vouch.env("VOUCH_TOKEN", BENCH_TOKEN);
        vouch.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            vouch.current_dir(folder.path()).spawn().context("failed to start vouch")?;
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

    pub(super) fn connect(&self) -> Result<CampaignClient> {
        Ok(CampaignClient { connection: HttpConnection::open(&self.address)? })
    }

    /// Waits for the end of the campaign and returns its JSON report.
    pub(super) fn wait_for_results(mut self) -> Result<Value> {
        let mut said = String::new();
        let mut stdout = self.child.stdout.take().context("its standard output")?;
        let mut results = String::new();
        stdout.read_to_string(&mut results)?;
        self.stderr.read_to_string(&mut said)?;
        self.child.wait()?;
        serde_json::from_str(&results).with_context(|| format!("vouch wrote no JSON: {said}"))
    }
}

impl Drop for ServedCampaign {
    fn drop(&mut self) {
        // Killing a process that has ended fails, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) struct CampaignClient {
    connection: HttpConnection,
}

impl CampaignClient {
    /// Calls a tool. Returns the duration and the structured content.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, Value)> {
        self.connection.call(tool, arguments).with_context(|| format!("failed to call {tool}"))
    }

    /// Returns the number of calls that the campaign has made.
    pub(super) fn count_calls(&mut self) -> Result<f64> {
        let (_, status) = self.call("campaign_status", &serde_json::json!({}))?;
        status["calls"].as_f64().context("campaign_status has no number of calls")
    }
}
