//! Entries for fuzzing (crate `parser-fuzz`). They run the private parsers as a connection does, without a connection.

use crate::envelope::{IncomingMessage, ResponsePayload, parse_message};
use crate::line_splitter::{LineSplitter, StdioFrame};
use crate::sse_parser::SseParser;
use crate::tool_result::parse_result;
use crate::{ConnectionError, MessageBounds};

/// Splits chunks into lines and parses each message and its result. Returns a summary per line.
pub fn parse_frames<'a>(
    chunks: impl IntoIterator<Item = &'a [u8]>,
    limit: usize,
) -> Vec<(usize, &'static str)> {
    let (mut splitter, mut seen) = (LineSplitter::new(limit), Vec::new());
    for chunk in chunks {
        splitter.push(chunk, |frame| {
            seen.push(match frame {
                StdioFrame::Whole(line) => (line.len(), describe_message(line)),
                StdioFrame::Oversized { size, id } => {
                    (size, if id.is_some() { "oversized with id" } else { "oversized" })
                }
            });
        });
    }
    seen
}

fn describe_message(line: &[u8]) -> &'static str {
    match parse_message(line) {
        None => "garbage",
        Some(IncomingMessage::Request(_)) => "request",
        Some(IncomingMessage::Notification { .. }) => "notification",
        Some(IncomingMessage::Response { outcome: ResponsePayload::Result(raw), .. }) => {
            match parse_result(raw.to_owned(), &MessageBounds::default()) {
                Ok(_) => "result",
                Err(_) => "invalid result",
            }
        }
        Some(IncomingMessage::Response { .. }) => "error",
    }
}

/// Parses an event stream. Returns the name and data of each event.
pub fn parse_events<'a>(
    chunks: impl IntoIterator<Item = &'a [u8]>,
    limit: usize,
) -> Result<Vec<(String, Vec<u8>)>, ConnectionError> {
    let (mut parser, mut events) = (SseParser::new(limit), Vec::new());
    for chunk in chunks {
        parser.push(chunk, &mut events)?;
    }
    parser.reset_for_resume();
    Ok(events.into_iter().map(|event| (event.name, event.data)).collect())
}
