//! The session of a request: a name that groups the requests of a caller.
//!
//! A handle chosen by the client takes precedence over the session of the transport. A session grants no access: state
//! is always stored by principal and session.

use std::sync::Arc;

use axum::http::HeaderMap;
use contract::{ErrorCode, ToolError};
use rmcp::model::RequestMetaObject;
use serde_json::{Value, json};

/// The key of a session handle in the `_meta` of an MCP request.
const META_KEY: &str = "dev.vouchsafe/session";
/// The header of a session handle in a REST request.
pub(super) const HEADER: &str = "vouch-session";
/// The session header of streamable HTTP, set by the handshake.
pub(super) const MCP_HEADER: &str = "mcp-session-id";
const MAX_LENGTH: usize = 128;

/// Returns the handle in `_meta`, if any. Errors if it is invalid.
pub(super) fn session_from_meta(meta: &RequestMetaObject) -> Result<Option<Arc<str>>, ToolError> {
    match meta.get(META_KEY) {
        None => Ok(None),
        Some(handle) => handle
            .as_str()
            .filter(|handle| is_valid_handle(handle))
            .map(|handle| Some(handle.into()))
            .ok_or_else(|| invalid_handle_error(&format!("`_meta[\"{META_KEY}\"]`"))),
    }
}

/// Returns the handle in the header of a REST request, if any. Errors if it is invalid.
pub(super) fn session_from_header(headers: &HeaderMap) -> Result<Option<Arc<str>>, ToolError> {
    match headers.get(HEADER) {
        None => Ok(None),
        Some(_) => valid_header(headers, HEADER)
            .map(Some)
            .ok_or_else(|| invalid_handle_error(&format!("the header `{HEADER}`"))),
    }
}

/// Returns the session of the transport. The stateless revisions do not define one.
pub(super) fn session_from_transport(headers: &HeaderMap) -> Option<Arc<str>> {
    valid_header(headers, MCP_HEADER)
}

/// Returns a new random session name for a connection, or `None` without random bytes.
pub(super) fn new_connection_session() -> Option<Arc<str>> {
    let mut bytes = [0; 16];
    // Without a session, requests are still distinguished by caller and time.
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(bytes)).into())
}

fn valid_header(headers: &HeaderMap, name: &str) -> Option<Arc<str>> {
    let value = headers.get(name)?.to_str().ok()?;
    is_valid_handle(value).then(|| value.into())
}

fn is_valid_handle(handle: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    !handle.is_empty() && handle.len() <= MAX_LENGTH && handle.bytes().all(plain)
}

/// Returns the JSON schema of a valid handle, equivalent to [`is_valid_handle`].
pub(super) fn handle_schema() -> Value {
    json!({"type": "string", "pattern": format!("^[A-Za-z0-9._:-]{{1,{MAX_LENGTH}}}$")})
}

fn invalid_handle_error(source: &str) -> ToolError {
    ToolError::new(
        ErrorCode::InvalidInput,
        format!("{source} must be 1 to {MAX_LENGTH} characters: letters, digits or `._:-`"),
    )
    .with_detail("field", "session")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_plain_handles() {
        let longest = "x".repeat(MAX_LENGTH);
        for good in ["a", "7f3e-1:2.x_Y", &longest] {
            assert!(is_valid_handle(good), "{good}");
        }
        for bad in ["", "a b", "a\n", "../a", "ä", &format!("{longest}x")] {
            assert!(!is_valid_handle(bad), "{bad:?}");
        }
    }

    #[test]
    fn connection_sessions_are_unique() {
        assert_ne!(new_connection_session().unwrap(), new_connection_session().unwrap());
        assert!(is_valid_handle(&new_connection_session().unwrap()));
    }
}
