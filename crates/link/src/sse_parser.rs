//! An incremental parser of server-sent events. It never buffers an event beyond the size limit.
//!
//! The parser is our own because the one that `rmcp` uses, `sse-stream`, buffers an event of any size.

use memchr::memchr2;

use crate::ConnectionError;

/// One complete event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// `message` if the stream does not name it.
    pub(crate) name: String,
    pub(crate) data: Vec<u8>,
}

/// Parser of one event stream.
pub(crate) struct SseParser {
    limit: usize,
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    after_return: bool,
    /// Id of the last event, sent as `Last-Event-ID` to resume a broken stream.
    pub(crate) last_id: Option<String>,
    /// Delay before resuming that the server requested.
    pub(crate) retry_ms: Option<u64>,
}

impl SseParser {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            event: SseEvent::default(),
            has_data: false,
            after_return: false,
            last_id: None,
            retry_ms: None,
        }
    }

    /// Prepares for the rest of the stream on a new response. Drops the incomplete event, which the server sends again.
    pub(crate) fn reset_for_resume(&mut self) {
        let last_id = self.last_id.take();
        *self = Self { last_id, ..Self::new(self.limit) };
    }

    /// Parses a chunk and appends the events that it completes to `out`.
    ///
    /// # Errors
    /// If an event exceeds the size limit.
    pub(crate) fn push(
        &mut self,
        mut chunk: &[u8],
        out: &mut Vec<SseEvent>,
    ) -> Result<(), ConnectionError> {
        while !chunk.is_empty() {
            if std::mem::take(&mut self.after_return) && chunk[0] == b'\n' {
                chunk = &chunk[1..];
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', chunk) else {
                self.line.extend_from_slice(chunk);
                return self.check_size();
            };
            self.line.extend_from_slice(&chunk[..end]);
            self.check_size()?;
            self.after_return = chunk[end] == b'\r';
            chunk = &chunk[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.parse_line(&line, out);
            self.line = line;
            self.line.clear();
        }
        Ok(())
    }

    fn check_size(&self) -> Result<(), ConnectionError> {
        let size = self.line.len() + self.event.data.len();
        // The field name does not count towards the message size.
        if size > self.limit + "data: ".len() {
            return Err(ConnectionError::TooLarge { size, limit: self.limit });
        }
        Ok(())
    }

    fn parse_line(&mut self, line: &[u8], out: &mut Vec<SseEvent>) {
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                if event.name.is_empty() {
                    event.name.push_str("message");
                }
                out.push(event);
            }
            return;
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(at) => {
                let value = &line[at + 1..];
                (&line[..at], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.name = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => {
                self.last_id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" => self.retry_ms = str::from_utf8(value).ok().and_then(|ms| ms.parse().ok()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(
        limit: usize,
        chunks: &[&[u8]],
    ) -> (Vec<(String, String)>, Result<(), ConnectionError>) {
        let mut events = SseParser::new(limit);
        let mut out = Vec::new();
        let ended = chunks.iter().try_for_each(|chunk| events.push(chunk, &mut out));
        let text =
            |event: SseEvent| (event.name, String::from_utf8_lossy(&event.data).into_owned());
        (out.into_iter().map(text).collect(), ended)
    }

    #[test]
    fn parses_fields_comments_and_all_line_endings() {
        let stream = "\u{feff}: hello\r\nid: 7\nretry: 20\ndata:\n\nevent: endpoint\rdata: /a\r\rdata: 1\r\ndata:2\r\n\r\nevent: lost\n\ndata: open\n";
        let (events, ended) = parse(100, &[stream.as_bytes()]);
        let pair = |name: &str, data: &str| (name.to_owned(), data.to_owned());
        assert_eq!(events, [pair("message", ""), pair("endpoint", "/a"), pair("message", "1\n2")]);
        assert_eq!(ended, Ok(()));
    }

    #[test]
    fn rejects_events_over_the_size_limit() {
        let long = format!("data: {}\n\n", "x".repeat(101));
        assert_eq!(parse(101, &[long.as_bytes()]).0.len(), 1);
        assert!(matches!(parse(100, &[long.as_bytes()]).1, Err(ConnectionError::TooLarge { .. })));
        let lines = "data: 12345\n".repeat(30);
        assert!(matches!(parse(100, &[lines.as_bytes()]).1, Err(ConnectionError::TooLarge { .. })));
    }

    proptest! {
        #[test]
        fn result_does_not_depend_on_chunk_boundaries(text in "(data|event|id|:| |a|\n|\r){0,60}", size in 1usize..9) {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(parse(1000, &chunks), parse(1000, &[text.as_bytes()]));
        }
    }
}
