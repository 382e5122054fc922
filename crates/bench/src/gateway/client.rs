//! One client for every front: over pipes or over HTTP.

use std::io::BufReader;
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::session::Session;
use crate::load::{Pipes, Sample};

/// Against lists that never end.
const MOST_PAGES: usize = 1000;

pub(super) enum Client {
    Pipes(Pipes<ChildStdin, BufReader<ChildStdout>>),
    Http(Box<Session>),
}

impl Client {
    /// One call after the other, for at most so long.
    pub(super) fn run_for(
        &mut self,
        tool: &str,
        arguments: &Value,
        calls: usize,
        limit: Duration,
    ) -> Result<Sample> {
        match self {
            Self::Pipes(pipes) => pipes.run_for(tool, arguments, calls, limit),
            Self::Http(session) => session.run_for(tool, arguments, calls, limit),
        }
    }

    /// The names of all tools, page by page, and how long the pages took together.
    pub(super) fn list(&mut self) -> Result<(Duration, Vec<String>)> {
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

    /// Waits until so many of these tools are offered.
    pub(super) fn wait_for(
        &mut self,
        count: usize,
        wanted: impl Fn(&str) -> bool,
        limit: Duration,
    ) -> Result<Vec<String>> {
        let start = Instant::now();
        loop {
            let (_, names) = self.list()?;
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
            Self::Pipes(pipes) => pipes.request(method, params),
            Self::Http(session) => session.request(method, params),
        }
    }
}
