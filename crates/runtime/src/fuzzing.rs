//! Entries for fuzzing (crate `parser-fuzz`). They run the private parsers of requests without a server.

use axum::http::{HeaderMap, HeaderValue, header};

use crate::transports::{rest, stdio};

/// Parses a line of standard input, and the answer to an invalid one.
pub fn parse_stdio_line(line: &[u8]) {
    stdio::parse_line_for_fuzzing(line);
}

/// Parses the body of a REST call.
pub fn parse_rest_body(body: &[u8]) {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    drop(rest::parse_arguments(&headers, body));
}

/// Parses the body of an MCP request, as the SDK's HTTP service does.
pub fn parse_mcp_body(body: &[u8]) {
    drop(serde_json::from_slice::<rmcp::service::RxJsonRpcMessage<rmcp::RoleServer>>(body));
}
