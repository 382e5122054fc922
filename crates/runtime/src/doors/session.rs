//! The session that a request belongs to: a name by which a caller's requests hang together, and nothing more.
//!
//! A handle that the client chose wins over what the transport knows. It opens no door: whoever keeps something by
//! session keeps it by principal and session.

use std::sync::Arc;

use axum::http::HeaderMap;
use contract::{Code, ToolError};
use rmcp::model::RequestMetaObject;
use serde_json::{Value, json};

/// The key of a handle in the `_meta` of an MCP request.
const META_KEY: &str = "dev.vouchsafe/session";
/// The header of a handle in a REST request.
pub(super) const HEADER: &str = "vouch-session";
/// Where streamable HTTP has the session of its handshake.
const MCP_HEADER: &str = "mcp-session-id";
const MAX_LENGTH: usize = 128;

/// The handle in `_meta`, if there is one.
pub(super) fn of_meta(meta: &RequestMetaObject) -> Result<Option<Arc<str>>, ToolError> {
    match meta.get(META_KEY) {
        None => Ok(None),
        Some(handle) => handle
            .as_str()
            .filter(|handle| is_plain(handle))
            .map(|handle| Some(handle.into()))
            .ok_or_else(|| unfit(&format!("`_meta[\"{META_KEY}\"]`"))),
    }
}

/// The handle in the header of a REST request, if there is one.
pub(super) fn of_rest(headers: &HeaderMap) -> Result<Option<Arc<str>>, ToolError> {
    match headers.get(HEADER) {
        None => Ok(None),
        Some(_) => plain_header(headers, HEADER)
            .map(Some)
            .ok_or_else(|| unfit(&format!("the header `{HEADER}`"))),
    }
}

/// The transport's own session. The stateless revisions have none, whatever a client puts there.
pub(super) fn of_transport(headers: &HeaderMap) -> Option<Arc<str>> {
    plain_header(headers, MCP_HEADER)
}

/// A new name, for a connection that has none.
pub(super) fn of_connection() -> Option<Arc<str>> {
    let mut bytes = [0; 16];
    // Without it the connection's requests are told apart by caller and time.
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(bytes)).into())
}

fn plain_header(headers: &HeaderMap, name: &str) -> Option<Arc<str>> {
    let value = headers.get(name)?.to_str().ok()?;
    is_plain(value).then(|| value.into())
}

fn is_plain(handle: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    !handle.is_empty() && handle.len() <= MAX_LENGTH && handle.bytes().all(plain)
}

/// The rule of [`is_plain`] as a schema.
pub(super) fn schema() -> Value {
    json!({"type": "string", "pattern": format!("^[A-Za-z0-9._:-]{{1,{MAX_LENGTH}}}$")})
}

fn unfit(what: &str) -> ToolError {
    ToolError::new(
        Code::InvalidInput,
        format!("{what} must have 1 to {MAX_LENGTH} letters, digits or any of `._:-`"),
    )
    .with("field", "session")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles() {
        let longest = "x".repeat(MAX_LENGTH);
        for good in ["a", "7f3e-1:2.x_Y", &longest] {
            assert!(is_plain(good), "{good}");
        }
        for bad in ["", "a b", "a\n", "../a", "ä", &format!("{longest}x")] {
            assert!(!is_plain(bad), "{bad:?}");
        }
    }

    #[test]
    fn every_connection_has_its_own() {
        assert_ne!(of_connection().unwrap(), of_connection().unwrap());
        assert!(is_plain(&of_connection().unwrap()));
    }
}
