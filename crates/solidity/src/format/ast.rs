//! Parses ASTs, unless they nest too deeply for recursive visitors.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Maximum nesting depth. The parser and every visitor recurse. Chains of `else if` and `+` nest one level per link, and
/// handwritten code stays below 200. In debug builds, the parser takes 3 KiB of the 2 MiB thread stack per level.
const MAX_DEPTH: usize = 400;

/// Returns `None` if the AST is missing, nests too deeply, or is not a JSON object. A build without ASTs still works.
pub(super) fn parse_ast(raw: Option<&RawValue>) -> Option<Arc<Value>> {
    let text = raw?.get();
    if !text.starts_with('{') || nesting_depth(text) > MAX_DEPTH {
        return None;
    }
    let mut parser = serde_json::Deserializer::from_str(text);
    parser.disable_recursion_limit();
    Value::deserialize(&mut parser).ok().map(Arc::new)
}

/// Returns the id of the source of this AST in its compilation unit: the last field of `src`.
pub(super) fn source_id(ast: &Value) -> Option<u32> {
    ast.get("src")?.as_str()?.rsplit(':').next()?.parse().ok()
}

fn nesting_depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
