//! Results that leave as another server wrote them, byte for byte.
//!
//! The SDK writes results from its own types, which know some fields and spell numbers and letters their own way. What an
//! upstream server answers or asks is not ours to change, though. So the SDK is given a stand-in that holds the text of
//! the result as a string, and where its message leaves, the text takes the place of the stand-in ([`restore`]). Nothing
//! is kept in between: a message that the SDK repeats (`Last-Event-ID`) holds its text as well.
//!
//! What changes: line breaks between values become blanks, because a message is one line, and what a client may rely on
//! is added in front where the server left it out ([`completed`]).

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use axum::body::Bytes;
use contract::{Output, Raw};
use memchr::memchr2;
use memchr::memmem::Finder;
use rmcp::model::{CallToolResult, JsonObject, MetaObject};
use serde_json::Value;

/// How a stand-in ends, up to the text that it holds. The name in it is made of chance, so that no server can have the text
/// of its choice put into a message where JSON is expected.
static MARK: LazyLock<Mark> = LazyLock::new(Mark::new);
/// How a stand-in begins for clients of the stateless revisions.
const TYPED: &[u8] = br#"{"resultType":"complete","#;

struct Mark {
    key: String,
    finder: Finder<'static>,
}

impl Mark {
    fn new() -> Self {
        let chance = RandomState::new();
        let key = format!("dev.vouchsafe/{:016x}{:016x}", chance.hash_one(0), chance.hash_one(1));
        let text = format!(r#""content":[],"_meta":{{"{key}":"#);
        Self { key, finder: Finder::new(text.as_bytes()).into_owned() }
    }
}

/// Holds the text of a result.
pub(super) fn stand_in(text: String) -> CallToolResult {
    let mut stand_in = CallToolResult::success(Vec::new());
    stand_in.is_error = None;
    let meta = JsonObject::from_iter([(MARK.key.clone(), Value::String(text))]);
    stand_in.meta = Some(MetaObject(meta));
    stand_in
}

/// The text of an answer as it came, with what it lacks in front. `is_typed` says that the client expects a kind.
pub(super) fn completed(raw: &Raw, output: &Output, is_typed: bool) -> String {
    let Raw { text, has_type, has_content, has_structured } = raw;
    let mut whole = String::with_capacity(text.len() + 64);
    whole.push('{');
    if is_typed && !has_type {
        whole.push_str(r#""resultType":"complete","#);
    }
    if !has_content {
        whole.push_str(r#""content":[],"#);
    }
    if let (Some(structured), false) = (&output.structured, has_structured) {
        let structured = serde_json::to_string(structured).expect("a JSON value always serialises");
        whole.extend([r#""structuredContent":"#, &structured, ","]);
    }
    // A result has content or structuredContent at least, so there is something after the comma.
    whole.push_str(text.trim_start().strip_prefix('{').unwrap_or("}"));
    whole
}

/// Puts the text in the place of its stand-in, if this message has one.
pub(super) fn restore(message: &[u8]) -> Cow<'_, [u8]> {
    let Some((before, text, after)) = split(message) else { return message.into() };
    let mut text = text.into_bytes();
    let mut start = 0;
    while let Some(found) = memchr2(b'\n', b'\r', &text[start..]) {
        start += found;
        text[start] = b' ';
    }
    [before, &text, after].concat().into()
}

/// What stands before a stand-in, the text that it holds, and what stands after it.
fn split(message: &[u8]) -> Option<(&[u8], String, &[u8])> {
    let Mark { finder, .. } = &*MARK;
    let at = finder.find(message)?;
    let before = [TYPED, b"{"].iter().find_map(|start| message[..at].strip_suffix(*start))?;
    let mut texts = serde_json::Deserializer::from_slice(&message[at + finder.needle().len()..])
        .into_iter::<String>();
    let text = texts.next()?.ok()?;
    let after = &message[at + finder.needle().len() + texts.byte_offset()..];
    Some((before, text, after.strip_prefix(b"}}")?))
}

/// The same in bytes that may be shared.
pub(super) fn restored(message: Bytes) -> Bytes {
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
    fn a_text_takes_its_place_as_often_as_the_message_is_sent() {
        let text = "{\"a\\u00e9\": [1.10, \"\\\"}}\"]}";
        for is_typed in [false, true] {
            let mut stand_in = stand_in(text.to_owned());
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
    fn nobody_else_can_make_a_stand_in() {
        let mut stand_in = stand_in("} and more".to_owned());
        let meta = stand_in.meta.as_mut().unwrap();
        let (_, text) =
            meta.0.iter_mut().next().map(|(key, text)| (key.clone(), text.take())).unwrap();
        meta.0 = JsonObject::from_iter([("dev.vouchsafe/0".to_owned(), text)]);
        let message = message(&stand_in);
        assert_eq!(restore(&message), message);
    }
}
