//! Sends results of upstream servers byte for byte, and structured content as a copy of its text.
//!
//! The SDK serializes results from its own types, which drop unknown fields and reformat numbers and strings. Answers
//! and elicitations of an upstream server must not be modified. The SDK is therefore given a stand-in that holds the
//! text of the result as a string. When the message is sent, the text replaces the stand-in ([`restore`]). No state is
//! kept in between, so a message that the SDK repeats (`Last-Event-ID`) contains its text as well.
//!
//! Two changes are made. Line breaks between values become spaces, because a message is one line. Required members that
//! the server omitted are added at the front ([`complete_raw`]).
//!
//! The text of most local answers is the JSON text of their structured content. Escaping a string for JSON is the most
//! expensive step of a large answer, so the SDK serializes the text only, and the structured content is copied from it.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use axum::body::Bytes;
use contract::{RawResult, ToolOutput};
use memchr::memchr2;
use memchr::memmem::Finder;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject};
use serde_json::Value;

/// Marks stand-ins. It contains a random key, so that a server cannot forge a stand-in to inject arbitrary text into a
/// message.
static MARKER: LazyLock<StandInMarker> = LazyLock::new(StandInMarker::new);
/// The start of a stand-in for clients of the stateless revisions, up to the marker.
const TYPED_START: &[u8] = br#"{"resultType":"complete","content":[],"_meta":{"#;
/// The start of other stand-ins, up to the marker.
const START: &[u8] = br#"{"content":[],"_meta":{"#;
/// The start of the stand-in for structured content, up to the marker.
const STRUCTURED_START: &[u8] = br#""structuredContent":{"#;
/// Finds the start of a result whose only content is text, up to the text. A string cannot contain it, because its quotes
/// are escaped there.
static TEXT_START: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new(br#""content":[{"type":"text","text":"#));

struct StandInMarker {
    key: String,
    /// Finds the key as the name of a member.
    finder: Finder<'static>,
}

impl StandInMarker {
    fn new() -> Self {
        let random = RandomState::new();
        let key = format!("dev.vouchsafe/{:016x}{:016x}", random.hash_one(0), random.hash_one(1));
        let name = format!(r#""{key}":"#);
        Self { key, finder: Finder::new(name.as_bytes()).into_owned() }
    }
}

/// Returns a stand-in that holds the text of a result.
pub(super) fn build_stand_in(text: String) -> CallToolResult {
    let mut stand_in = CallToolResult::success(Vec::new());
    stand_in.is_error = None;
    let meta = JsonObject::from_iter([(MARKER.key.clone(), Value::String(text))]);
    stand_in.meta = Some(MetaObject(meta));
    stand_in
}

/// Returns a stand-in for a result whose only content is the JSON text of its structured content.
pub(super) fn build_derived_stand_in(text: String) -> CallToolResult {
    let mut stand_in = CallToolResult::success(vec![ContentBlock::text(text)]);
    let structured = JsonObject::from_iter([(MARKER.key.clone(), Value::Null)]);
    stand_in.structured_content = Some(Value::Object(structured));
    stand_in
}

/// Returns the raw text of an answer with missing members added at the front. `is_typed` is true if the client expects
/// a result type.
pub(super) fn complete_raw(raw: &RawResult, output: &ToolOutput, is_typed: bool) -> String {
    let RawResult { text, has_type, has_content, has_structured } = raw;
    let mut whole = String::with_capacity(text.len() + 64);
    whole.push('{');
    if is_typed && !has_type {
        whole.push_str(r#""resultType":"complete","#);
    }
    if !has_content {
        whole.push_str(r#""content":[],"#);
    }
    if let (Some(structured), false) = (&output.structured, has_structured) {
        let structured = serde_json::to_string(structured).expect("a JSON value always serializes");
        whole.extend([r#""structuredContent":"#, &structured, ","]);
    }
    // A result has at least content or structuredContent, so the comma is always followed by a member.
    whole.push_str(text.trim_start().strip_prefix('{').unwrap_or("}"));
    whole
}

/// Returns a result with the raw text of an answer, without a stand-in.
pub(super) fn write_raw_result(raw: &RawResult, output: &ToolOutput, is_typed: bool) -> String {
    let mut result = complete_raw(raw, output, is_typed).into_bytes();
    join_lines(&mut result);
    String::from_utf8(result).expect("only ASCII bytes were replaced")
}

/// Returns a result whose only content is the JSON text of its structured content, without a stand-in.
pub(super) fn write_derived_result(text: &str, is_typed: bool) -> String {
    let mut result = Vec::with_capacity(2 * text.len() + text.len() / 4 + 128);
    result.extend_from_slice(if is_typed {
        br#"{"resultType":"complete","content":"#
    } else {
        br#"{"content":"#
    });
    result.extend_from_slice(br#"[{"type":"text","text":"#);
    serde_json::to_writer(&mut result, text).expect("a string always serializes");
    result.extend_from_slice(br#"}],"structuredContent":"#);
    result.extend_from_slice(text.as_bytes());
    result.extend_from_slice(br#","isError":false}"#);
    String::from_utf8(result).expect("strings and ASCII")
}

/// Replaces line breaks, which a JSON text has only between values, by spaces.
fn join_lines(text: &mut [u8]) {
    let mut start = 0;
    while let Some(found) = memchr2(b'\n', b'\r', &text[start..]) {
        start += found;
        text[start] = b' ';
    }
}

/// Returns the message with its stand-in replaced by the text, or unchanged if it has none.
pub(super) fn restore(message: &[u8]) -> Cow<'_, [u8]> {
    let StandInMarker { finder, .. } = &*MARKER;
    let Some(at) = finder.find(message) else { return message.into() };
    let (before, value) = (&message[..at], &message[at + finder.needle().len()..]);
    let restored = restore_result(before, value).or_else(|| restore_structured(before, value));
    restored.map_or(Cow::Borrowed(message), Cow::Owned)
}

/// Returns the message with the text in place of the whole result.
fn restore_result(before: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    let before = [TYPED_START, START].iter().find_map(|start| before.strip_suffix(*start))?;
    let (text, after) = read_string(value)?;
    let mut text = text.into_bytes();
    join_lines(&mut text);
    Some([before, &text, after.strip_prefix(b"}}")?].concat())
}

/// Returns the message with the text of its content in place of the structured content.
fn restore_structured(before: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    let content = before.strip_suffix(STRUCTURED_START)?;
    let text_at = TEXT_START.find(content)? + TEXT_START.needle().len();
    let after = value.strip_prefix(b"null}")?;
    let mut restored = Vec::with_capacity(2 * content.len() + after.len());
    restored.extend_from_slice(content);
    restored.extend_from_slice(STRUCTURED_START.strip_suffix(b"{")?);
    push_json_text(&content[text_at..], &mut restored)?;
    restored.extend_from_slice(after);
    Some(restored)
}

/// Appends the JSON text that the JSON string at the start of the bytes holds. Such a text has no control characters, so its
/// only escapes are `\"` and `\\`.
fn push_json_text(string: &[u8], restored: &mut Vec<u8>) -> Option<()> {
    let mut rest = string.strip_prefix(b"\"")?;
    loop {
        let at = memchr2(b'\\', b'"', rest)?;
        restored.extend_from_slice(&rest[..at]);
        if rest[at] == b'"' {
            return Some(());
        }
        let escaped = *rest.get(at + 1).filter(|byte| matches!(byte, b'"' | b'\\'))?;
        restored.push(escaped);
        rest = &rest[at + 2..];
    }
}

/// Returns the JSON string at the start of the bytes, and the bytes after it.
fn read_string(bytes: &[u8]) -> Option<(String, &[u8])> {
    let mut strings = serde_json::Deserializer::from_slice(bytes).into_iter::<String>();
    let string = strings.next()?.ok()?;
    Some((string, &bytes[strings.byte_offset()..]))
}

/// Like [`restore`], for shared bytes.
pub(super) fn restore_bytes(message: Bytes) -> Bytes {
    match restore(&message) {
        Cow::Borrowed(_) => message,
        Cow::Owned(restored) => restored.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(stand_in: &CallToolResult) -> Vec<u8> {
        let result = serde_json::to_string(stand_in).unwrap();
        format!("data: {{\"id\":\"}}{{\",\"result\":{result}}}\nid: 1/0\n\n").into_bytes()
    }

    #[test]
    fn restores_text_each_time_a_message_is_sent() {
        let text = "{\"a\\u00e9\": [1.10, \"\\\"}}\"]}";
        for is_typed in [false, true] {
            let mut stand_in = build_stand_in(text.to_owned());
            stand_in.result_type = is_typed.then(Default::default);
            let message = message(&stand_in);
            let whole = format!("data: {{\"id\":\"}}{{\",\"result\":{text}}}\nid: 1/0\n\n");
            for _ in 0..2 {
                assert_eq!(restore(&message), whole.as_bytes(), "{is_typed}");
            }
            assert_eq!(restore(whole.as_bytes()), whole.as_bytes());
        }
    }

    #[test]
    fn copies_structured_content_from_its_text() {
        let text =
            r#"{"a":"\"content\":[{\"type\":\"text\",\"text\":\"é\n\u0001","b":[1.10,null]}"#;
        for is_typed in [false, true] {
            let mut stand_in = build_derived_stand_in(text.to_owned());
            stand_in.result_type = is_typed.then(Default::default);
            let mut whole = stand_in.clone();
            whole.structured_content = Some(Value::Null);
            let structured = format!("\"structuredContent\":{text}");
            let expected = String::from_utf8(message(&whole)).unwrap();
            let expected = expected.replace("\"structuredContent\":null", &structured);
            for _ in 0..2 {
                let restored = restore(&message(&stand_in)).into_owned();
                assert_eq!(String::from_utf8(restored).unwrap(), expected, "{is_typed}");
            }
        }
    }

    #[test]
    fn ignores_forged_stand_ins() {
        let mut stand_in = build_stand_in("} and more".to_owned());
        let meta = stand_in.meta.as_mut().unwrap();
        let (_, text) =
            meta.0.iter_mut().next().map(|(key, text)| (key.clone(), text.take())).unwrap();
        meta.0 = JsonObject::from_iter([("dev.vouchsafe/0".to_owned(), text)]);
        let message = message(&stand_in);
        assert_eq!(restore(&message), message);
    }
}
