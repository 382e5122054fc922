//! Limits of the HTTP server: connections, times, sessions, streams and memory.

use std::time::Duration;

/// Limits of the HTTP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// Maximum number of open connections. At the limit, the longest-idle one without a request in flight is closed.
    pub max_connections: usize,
    /// Maximum time from the first byte of a request, or from the start of a connection, to the end of its headers. It
    /// includes the TLS handshake.
    pub header_timeout: Duration,
    /// Maximum time for the body of a request to arrive.
    pub body_timeout: Duration,
    /// Maximum time between two requests of a connection.
    pub idle_timeout: Duration,
    /// Maximum time for which a client may accept no byte of a response.
    pub write_timeout: Duration,
    /// Maximum time for which the start of an event stream is held back for its first message. Most calls finish within it,
    /// so headers, message and end are sent together. A call whose connection breaks earlier cannot be resumed, because the
    /// client has not received an event id.
    pub hold_back: Duration,
    /// Maximum concurrent requests of one HTTP/2 connection.
    pub max_streams: u32,
    /// Maximum number of sessions.
    pub max_sessions: usize,
    /// Maximum number of sessions of one principal.
    pub max_sessions_per_client: usize,
    /// A session without any message for this long is closed.
    pub session_idle_timeout: Duration,
    /// Maximum number of open response and listening streams of one session.
    pub max_streams_per_session: usize,
    /// Maximum number of messages that wait in one stream of a session.
    pub max_queued_messages: usize,
    /// Maximum bytes of requests and responses that are held in memory at the same time.
    pub max_memory_bytes: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(120),
            write_timeout: Duration::from_secs(30),
            hold_back: Duration::from_secs(1),
            max_streams: 100,
            max_sessions: 1024,
            max_sessions_per_client: 256,
            session_idle_timeout: Duration::from_secs(300),
            max_streams_per_session: 100,
            max_queued_messages: 16,
            max_memory_bytes: 512 << 20,
        }
    }
}
