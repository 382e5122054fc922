//! Command-line flags of the adversary.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// A scripted MCP server that violates its contracts: each tool in one way, the flags for the whole server
#[derive(Debug, Parser)]
pub(crate) struct AdversaryArgs {
    /// Serve streamable HTTP on a free loopback port and print the URL as the first line of stdout
    #[arg(long)]
    pub(crate) http: bool,
    /// Listen on this port instead of a free one, so that a restarted server keeps its URL
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Answer every HTTP request with an event stream, not only those that need one
    #[arg(long)]
    pub(crate) sse: bool,
    /// Offer only the protocol revisions of this era
    #[arg(long, value_enum, default_value_t = AdversaryEra::Both)]
    pub(crate) era: AdversaryEra,
    /// Keep counts and mutations in this file, shared between processes
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Append every received message to this file as a JSON line, with the HTTP headers
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,

    /// Offer only these tools
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) only: Option<Vec<String>>,
    /// Also offer this many generated tools
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) tools: usize,
    /// Tools per page [default: 20, or more if that makes more than about twenty pages]
    #[arg(long, value_name = "N")]
    pub(crate) page_size: Option<usize>,
    /// Return a cursor and a new tool on every page, without end
    #[arg(long)]
    pub(crate) pages_forever: bool,
    /// Return the same cursor on every page
    #[arg(long)]
    pub(crate) same_cursor: bool,
    /// Change the description of `good` in each list
    #[arg(long)]
    pub(crate) mutate_description: bool,
    /// Offer a mutated `good` as `good_again`
    #[arg(long)]
    pub(crate) rename_on_mutate: bool,

    /// Forget a session after this many tool calls (HTTP, handshake era)
    #[arg(long, value_name = "N")]
    pub(crate) expire_sessions: Option<u64>,
    /// Accept every message and never answer
    #[arg(long)]
    pub(crate) dead: bool,
    /// Print an error to stderr and exit at once
    #[arg(long)]
    pub(crate) exit_at_start: bool,
    /// Answer no request during the first milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub(crate) slow_start: u64,
    /// Answer calls of `good` only once this file exists
    #[arg(long, value_name = "FILE")]
    pub(crate) hold: Option<PathBuf>,
    /// Keep running when stdin closes or on SIGTERM and SIGINT
    #[arg(long)]
    pub(crate) stubborn: bool,
    /// Start a child process that runs for ten minutes; `count` reports its process id
    #[arg(long)]
    pub(crate) grandchild: bool,
}

/// A protocol era, or both as the value of `--era`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdversaryEra {
    Handshake,
    Stateless,
    Both,
}

impl AdversaryEra {
    pub(crate) fn includes(self, other: Self) -> bool {
        self == Self::Both || self == other
    }
}
