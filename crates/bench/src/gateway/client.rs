//! A client for every front, over pipes or HTTP.

use std::io::BufReader;
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::session::HttpSession;
use crate::load::{LatencySample, StdioSession};

/// Maximum pages of a list.
const MOST_PAGES: usize = 1000;

pub(super) enum GatewayClient {
    Stdio(StdioSession<ChildStdin, BufReader<ChildStdout>>),
    Http(Box<HttpSession>),
}

impl GatewayClient {
    /// Makes calls one at a time until `limit`.
    pub(super) fn run_calls_for(
        &mut self,
        tool: &str,
        arguments: &Value,
        calls: usize,
        limit: Duration,
    ) -> Result<LatencySample> {
        match self {
            Self::Stdio(pipes) => pipes.run_calls_for(tool, arguments, calls, limit),
            Self::Http(session) => session.run_calls_for(tool, arguments, calls, limit),
        }
    }

    /// Returns the time to list all pages, and the names of all tools.
    pub(super) fn list_tools(&mut self) -> Result<(Duration, Vec<String>)> {
        let mut names = Vec::new();
        let mut all = Duration::ZERO;
        let mut params = json!({});
        for _ in 0..MOST_PAGES {
            let (elapsed, page) = self.request("tools/list", &params)?;
            all += elapsed;
            let tools = page["tools"].as_array().map_or(&[][..], Vec::as_slice);
            names.extend(tools.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned));
            match page["nextCursor"].as_str() {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return Ok((all, names)),
            }
        }
        bail!("the list has more than {MOST_PAGES} pages")
    }

    /// Waits until `count` tools that match are offered, and returns their names.
    pub(super) fn wait_for_tools(
        &mut self,
        count: usize,
        wanted: impl Fn(&str) -> bool,
        limit: Duration,
    ) -> Result<Vec<String>> {
        let start = Instant::now();
        loop {
            let (_, names) = self.list_tools()?;
            let found: Vec<_> = names.iter().filter(|name| wanted(name)).cloned().collect();
            if found.len() >= count {
                return Ok(found);
            }
            if start.elapsed() > limit {
                bail!("{} of {count} tools are offered, among {}", found.len(), names.len());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<(Duration, Value)> {
        match self {
            Self::Stdio(pipes) => pipes.request(method, params),
            Self::Http(session) => session.request(method, params),
        }
    }
}
