//! Status of a connection and info about its server.

use jiff::Timestamp;

/// Era of the protocol: the revision is negotiated once per session, or stated in every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolEra {
    /// `initialize`, up to 2025-11-25.
    Handshake,
    /// `server/discover` and `_meta`, since 2026-07-28.
    Stateless,
}

/// Info that a server reports about itself. Truncated and escaped; not to be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    pub name: String,
    pub version: String,
    /// The negotiated protocol revision.
    pub protocol: String,
    pub era: ProtocolEra,
}

/// Current status of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionStatus {
    /// No attempt has ended yet.
    NeverConnected,
    Connected(ServerInfo),
    Lost {
        reason: String,
        since: Timestamp,
        /// Time of the next background attempt; a call may connect earlier.
        next_try: Option<Timestamp>,
    },
    /// Closed permanently.
    Closed,
}

/// Counts of protocol deviations of a server since the connection was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProtocolDeviations {
    /// Responses that match no pending call: late, duplicate, or with an unknown id.
    pub stray_responses: u64,
    /// Lines or events that are not JSON-RPC.
    pub garbage: u64,
    /// Messages over the size limit.
    pub oversized: u64,
    /// Server requests that could not be relayed to a caller.
    pub declined: u64,
}
