//! State of remote chains over JSON-RPC, for forks of the fuzzer.
//!
//! ```text
//!  fuzz::chain ──► RpcChains ──► RpcState (one chain, one block) ──► flight: each value is fetched once
//!                     │              │                                  │
//!                     └── endpoint   └── cache: files by chain and block └── client: JSON-RPC with retries
//! ```
//!
//! A node is not trusted: responses are bounded in size and time, redirects are not followed, and every value is checked.
//! A URL may contain an API key, so that messages name the host only ([`RpcUrl`]).
//!
//! State that the cache holds needs no request. Start at [`RpcChains`].

mod cache;
mod chains;
mod client;
mod entries;
mod flight;
mod retry;
mod rpc_url;
mod state;
mod wire;

pub use chains::{PinnedBlock, RpcChains, RpcOptions};
pub use client::RpcLimits;
pub use rpc_url::{RpcUrl, RpcUrlError};
