//! Messages of peers: JSON-RPC frames, event streams and HTTP bodies.

/// Small, so that short inputs reach the handling of oversized messages. Not below the part of such a message that is
/// searched for its id, which would then depend on the chunks.
const SIZE_LIMIT: usize = 1100;

/// Frames of an upstream server. The first byte chooses the size of the chunks in which they arrive.
pub(crate) fn parse_upstream_frames(data: &[u8]) {
    let Some((chunk, data)) = data.split_first() else { return };
    let whole = link::fuzzing::parse_frames([data], SIZE_LIMIT);
    let divided = link::fuzzing::parse_frames(chunks(data, *chunk), SIZE_LIMIT);
    assert_eq!(whole, divided, "frames depend on how they arrive");
}

/// An event stream, divided into chunks like the frames.
pub(crate) fn parse_events(data: &[u8]) {
    let Some((chunk, data)) = data.split_first() else { return };
    let whole = link::fuzzing::parse_events([data], SIZE_LIMIT);
    let divided = link::fuzzing::parse_events(chunks(data, *chunk), SIZE_LIMIT);
    // A stream that exceeds the limit ends with an error, and how many events were complete by then depends on the chunks.
    if let (Ok(whole), Ok(divided)) = (whole, divided) {
        assert_eq!(whole, divided, "events depend on how they arrive");
    }
}

pub(crate) fn parse_stdio_line(data: &[u8]) {
    runtime::fuzzing::parse_stdio_line(data);
}

pub(crate) fn parse_http_body(data: &[u8]) {
    runtime::fuzzing::parse_rest_body(data);
    runtime::fuzzing::parse_mcp_body(data);
}

fn chunks(data: &[u8], size: u8) -> impl Iterator<Item = &[u8]> {
    data.chunks(usize::from(size).max(1))
}
