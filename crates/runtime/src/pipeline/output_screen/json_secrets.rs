//! Finds and replaces secrets in JSON values: in strings, member names, the values of members named like secrets, base64
//! text, and strings that are parts of one secret.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrets::SecretRedactor;
use serde_json::{Map, Value};

/// Minimum length of base64 that is decoded; shorter texts hold no recognizable secret.
const MIN_BASE64_BYTES: usize = 28;
/// Maximum total length of the strings of an array that are searched as one text.
const MAX_JOINED_BYTES: usize = 64 * 1024;
/// Minimum length of a line that may be part of a private key.
const MIN_KEY_LINE: usize = 40;

/// The secrets of one reply.
#[derive(Default)]
pub(super) struct JsonSecrets {
    pub(super) redactor: SecretRedactor,
    /// A secret was found that no single string contains, or in bytes that are not text.
    pub(super) is_spread: bool,
    /// A private key begins or ends in the reply, so lines of base64 are parts of it.
    has_key_marker: bool,
    /// Strings that are one line of base64 each.
    key_lines: Vec<String>,
}

impl JsonSecrets {
    pub(super) fn is_empty(&self) -> bool {
        self.redactor.is_empty()
    }

    /// Ends the search: lines of base64 are parts of a key that begins or ends in the reply.
    pub(super) fn finish_search(&mut self) {
        if self.has_key_marker {
            self.redactor.collect_key_lines(&std::mem::take(&mut self.key_lines));
        }
    }

    /// Searches a value. `with_texts` is false if its texts were searched already, as part of a larger text.
    pub(super) fn collect_value(&mut self, value: &Value, with_texts: bool) {
        match value {
            Value::String(text) => self.collect_string(None, text, with_texts),
            Value::Array(items) => {
                let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                self.collect_joined(&texts);
                items.iter().for_each(|item| self.collect_value(item, with_texts));
            }
            Value::Object(map) => {
                for (name, value) in map {
                    if with_texts {
                        self.redactor.collect(name);
                    }
                    match value {
                        Value::String(text) => self.collect_string(Some(name), text, with_texts),
                        other => self.collect_value(other, with_texts),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(super) fn collect_text(&mut self, text: &str) {
        self.collect_string(None, text, true);
    }

    fn collect_string(&mut self, name: Option<&str>, text: &str, with_texts: bool) {
        if with_texts {
            self.redactor.collect(text);
        }
        if let Some(name) = name {
            self.redactor.collect_member(name, text);
        }
        if text.len() < 256 && text.contains(" PRIVATE KEY-----") {
            self.has_key_marker = true;
        }
        if let Some(line) = find_key_line(text) {
            self.key_lines.push(line.to_owned());
        }
        match decode_base64(text) {
            Some(Ok(decoded)) => {
                self.redactor.collect(&decoded);
            }
            Some(Err(bytes)) => {
                // Bytes that are not text cannot be rewritten safely.
                self.is_spread |= self.redactor.collect(&String::from_utf8_lossy(&bytes));
            }
            None => {}
        }
    }

    /// Searches the texts of an array as one text, because a client may join them.
    pub(super) fn collect_joined(&mut self, texts: &[&str]) {
        let total: usize = texts.iter().map(|text| text.len()).sum();
        if texts.len() < 2 || total > MAX_JOINED_BYTES {
            return;
        }
        let joined = texts.concat();
        let ends: Vec<usize> = texts
            .iter()
            .scan(0, |end, text| {
                *end += text.len();
                Some(*end)
            })
            .collect();
        for span in secrets::find_spans(&joined, secrets::ScanPurpose::Output) {
            let is_split = ends.iter().any(|end| span.range.start < *end && *end < span.range.end);
            // The lines of a file are an array too; a name at the end of one is not assigned the next.
            if is_split && !span.rule.is_assignment && !span.is_key_block() {
                self.is_spread |= self.redactor.collect(&joined[span.range]);
            }
        }
    }

    /// Replaces the secrets in a value.
    pub(super) fn redact_value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.redact_string(None, text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(map) => self.redact_object(map),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn redact_object(&mut self, map: &mut Map<String, Value>) {
        let names: Vec<String> = map.keys().cloned().collect();
        for name in names {
            match map.get_mut(&name) {
                Some(Value::String(text)) => self.redact_string(Some(&name), text),
                Some(other) => self.redact_value(other),
                None => {}
            }
            if let Some(redacted) = self.redactor.redact(&name)
                && let Some(value) = map.remove(&name)
            {
                map.insert(redacted, value);
            }
        }
    }

    pub(super) fn redact_text(&mut self, text: &mut String) {
        self.redact_string(None, text);
    }

    fn redact_string(&mut self, name: Option<&str>, text: &mut String) {
        if let Some(Ok(decoded)) = decode_base64(text)
            && let Some(redacted) = self.redactor.redact(&decoded)
        {
            *text = STANDARD.encode(redacted);
            return;
        }
        let redacted = match name {
            Some(name) => self.redactor.redact_member(name, text),
            None => self.redactor.redact(text),
        };
        if let Some(redacted) = redacted {
            *text = redacted;
        }
    }
}

/// Returns the text or the bytes that a string encodes, if all of it is base64.
fn decode_base64(text: &str) -> Option<Result<String, Vec<u8>>> {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    if text.len() < MIN_BASE64_BYTES
        || !text.len().is_multiple_of(4)
        || !text.as_bytes().iter().all(is_digit)
    {
        return None;
    }
    let bytes = STANDARD.decode(text).ok()?;
    Some(String::from_utf8(bytes).map_err(std::string::FromUtf8Error::into_bytes))
}

/// Returns the line if the text is one line of base64 that may be part of a private key.
fn find_key_line(text: &str) -> Option<&str> {
    if !(MIN_KEY_LINE..256).contains(&text.len()) {
        return None;
    }
    let line = text.trim_matches(|c: char| c.is_whitespace() || "\"',+|>\\".contains(c));
    let line = line.strip_suffix("\\n").unwrap_or(line);
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    // A hash or an address is hexadecimal; keys mix all kinds.
    let has = |kind: fn(&u8) -> bool| line.as_bytes().iter().any(kind);
    let is_mixed = has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && has(|byte| byte.is_ascii_alphabetic() && !byte.is_ascii_hexdigit() && *byte != b'x');
    (line.len() >= MIN_KEY_LINE && is_mixed && line.bytes().all(is_digit)).then_some(line)
}
