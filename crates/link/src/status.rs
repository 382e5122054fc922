//! What is known of the server at the other end.

use jiff::Timestamp;

/// How a connection is held: agreed on once, or said anew with every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize`, up to 2025-11-25.
    Handshake,
    /// `server/discover` and `_meta`, since 2026-07-28.
    Stateless,
}

/// What a server says of itself: bounded and made visible, never trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub name: String,
    pub version: String,
    /// The protocol revision that is spoken.
    pub protocol: String,
    pub era: Era,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Never,
    Connected(Server),
    Lost {
        reason: String,
        since: Timestamp,
        /// When the next attempt in the background is due; a call may try earlier.
        next_try: Option<Timestamp>,
    },
    Closed,
}

/// What a server sent that nobody had asked for; counted since the link was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Answers to no call in flight: late, twice, or with a foreign id.
    pub stray_answers: u64,
    /// Lines or events that are not JSON-RPC.
    pub garbage: u64,
    /// Messages that were over the limit.
    pub oversized: u64,
    /// Questions that could be put to nobody.
    pub declined: u64,
}
