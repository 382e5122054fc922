//! Finds the end of a private key that begins in a text.

/// Maximum length of a key without an end marker. An RSA key of 16384 bits has 13 KB.
const MAX_BODY_BYTES: usize = 16 * 1024;

/// Maximum length of a key on one line without an end marker.
const MAX_LINE_BYTES: usize = 4096;

/// Returns the length of the key block at the beginning of the text: up to its end marker, or over the lines that can be
/// part of it.
pub(crate) fn find_block_end(text: &str) -> usize {
    let head = &text[..text.floor_char_boundary(text.len().min(MAX_BODY_BYTES))];
    // The next key is its own block. It also keeps a text of nothing but markers linear.
    let next = head.get(1..).and_then(|rest| rest.find("-----BEGIN "));
    let head = next.map_or(head, |next| &head[..=next]);
    let begin = head.find("PRIVATE KEY").unwrap_or(0);
    if let Some(end) = head[begin..].find("-----END ") {
        let end = begin + end + "-----END ".len();
        let rest = &head[end..];
        let tail = rest.find("-----").map_or(0, |tail| tail + "-----".len());
        return end + tail;
    }
    let mut end = 0;
    for line in head.split_inclusive('\n') {
        if end == 0 {
            // A key on one line, or the marker with the text around it.
            end = line.floor_char_boundary(line.len().min(MAX_LINE_BYTES));
        } else if is_body_line(line.trim_end()) {
            end += line.len();
        } else {
            break;
        }
    }
    end
}

/// Returns true if the line may belong to a key: base64, a header, or empty.
fn is_body_line(line: &str) -> bool {
    // Comment signs, quotes and indentation of the text around.
    let line = line.trim_matches(|c: char| c.is_whitespace() || "\"'`+,;|>\\#*/".contains(c));
    let is_header = [
        "Proc-Type:",
        "DEK-Info:",
        "Version:",
        "Comment:",
        "Encryption:",
        "Public-Lines:",
        "Private-Lines:",
        "Private-MAC:",
    ];
    is_header.iter().any(|header| line.starts_with(header))
        || line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=\\.".contains(&byte))
}

/// Returns the lines of a key block that identify it: its base64 body.
pub(crate) fn body_lines(block: &str) -> impl Iterator<Item = &str> {
    let pieces = block.split(['\n', '\r', '"', '\'', ' ', '\t']);
    let pieces = pieces.flat_map(|piece| piece.split("\\n"));
    pieces.filter(|piece| {
        piece.len() >= 16
            && piece.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
    })
}
