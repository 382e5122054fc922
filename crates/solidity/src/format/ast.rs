//! Syntax trees: parsed only if they do not nest too deep for the stack of whoever walks them.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The parser and every walker recurse. Chains of `else if` and of `+` nest one level for each link, and hand-written
/// code stays below 200. Without optimisation the parser takes 3 KiB of stack for a level, of the 2 MiB of a thread.
const DEEPEST: usize = 400;

/// None for a tree that is left out, nests too deep, or is no JSON object: a build without trees still works.
pub(super) fn parse(raw: Option<&RawValue>) -> Option<Arc<Value>> {
    let text = raw?.get();
    if !text.starts_with('{') || depth(text) > DEEPEST {
        return None;
    }
    let mut parser = serde_json::Deserializer::from_str(text);
    parser.disable_recursion_limit();
    Value::deserialize(&mut parser).ok().map(Arc::new)
}

/// The number by which the compilation named the source of this tree: the last field of `src`.
pub(super) fn source_id(ast: &Value) -> Option<u32> {
    ast.get("src")?.as_str()?.rsplit(':').next()?.parse().ok()
}

fn depth(text: &str) -> usize {
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
