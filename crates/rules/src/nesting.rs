//! The nesting of an expression, measured on its text.
//!
//! The CEL parser descends through all levels of precedence for every bracket, which takes tens of kilobytes of stack: about
//! a hundred brackets overflow the stack of a process. So the depth is bounded before the text is parsed.

/// Returns the maximum depth of brackets outside of string literals.
pub(crate) fn bracket_depth(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut deepest) = (0, 0_usize, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' | b'\'' => {
                // An unterminated literal hides nothing: the parser continues after its quote.
                if let Some(end) = end_of_literal(bytes, at) {
                    at = end;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    deepest
}

/// Returns the index after the literal whose quote is at `start`, or `None` if it has no end.
fn end_of_literal(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes[start];
    let is_raw = bytes[..start].iter().rev().take(2).any(|byte| byte.eq_ignore_ascii_case(&b'r'));
    let triple = [quote; 3];
    let is_triple = bytes[start..].starts_with(&triple);
    let mark: &[u8] = if is_triple { &triple } else { &triple[..1] };
    let mut at = start + mark.len();
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if !is_raw => at += 1,
            b'\n' | b'\r' if !is_triple => return None,
            _ if bytes[at..].starts_with(mark) => return Some(at + mark.len()),
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_brackets_outside_of_literals() {
        for (text, depth) in [
            ("", 0),
            ("a(b[c]) && {1: (2)}", 2),
            ("')))' == ((a))", 2),
            (r#""\"((" + (a)"#, 1),
            (r"r'\' + ((a))", 2),
            ("'''a'((''' + (b)", 1),
            ("' ((((", 4),
            ("))((", 2),
        ] {
            assert_eq!(bracket_depth(text), depth, "{text}");
        }
    }
}
