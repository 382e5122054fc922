//! How the adversary is told to misbehave.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// A scripted MCP server that breaks its word: each tool in one way, the switches for the server as a whole.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// Serve streamable HTTP on a free loopback port; the first line of stdout is the URL
    #[arg(long)]
    pub(crate) http: bool,
    /// Listen on this port instead of a free one, so that a restarted server is found again
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Answer every request over HTTP as an event stream, not only those that need one
    #[arg(long)]
    pub(crate) sse: bool,
    #[arg(long, value_enum, default_value_t = Era::Both)]
    pub(crate) era: Era,
    /// Keep counts and mutations in this file, across processes
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Append every message received to this file, one JSON line each, with the HTTP headers
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,

    /// Offer only these tools
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) only: Option<Vec<String>>,
    /// Offer this many generated tools as well
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) tools: usize,
    /// Tools on one page; without it 20, or more where that would make more than about twenty pages
    #[arg(long, value_name = "N")]
    pub(crate) page_size: Option<usize>,
    /// Every page names another one, with a tool that no page had before
    #[arg(long)]
    pub(crate) pages_forever: bool,
    /// Every page names itself as the next
    #[arg(long)]
    pub(crate) same_cursor: bool,
    /// The description of `good` is another one in each list
    #[arg(long)]
    pub(crate) mutate_description: bool,
    /// A mutated `good` is offered as `good_again`
    #[arg(long)]
    pub(crate) rename_on_mutate: bool,

    /// Forget a session after this many calls of tools (HTTP, handshake era)
    #[arg(long, value_name = "N")]
    pub(crate) expire_sessions: Option<u64>,
    /// Accept everything and never answer
    #[arg(long)]
    pub(crate) dead: bool,
    /// Complain on stderr and exit at once
    #[arg(long)]
    pub(crate) exit_at_start: bool,
    /// Answer nothing in the first milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub(crate) slow_start: u64,
    /// Live on when stdin closes or a signal asks to end
    #[arg(long)]
    pub(crate) stubborn: bool,
    /// Start a process of one's own that lives for ten minutes; `count` tells its id
    #[arg(long)]
    pub(crate) grandchild: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Era {
    Handshake,
    Stateless,
    Both,
}

impl Era {
    pub(crate) fn offers(self, other: Self) -> bool {
        self == Self::Both || self == other
    }
}
