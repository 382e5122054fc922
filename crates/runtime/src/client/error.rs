//! Errors of a call to a remote server, worded for the person who made the call.
//!
//! The SDK's errors name its own types and repeat their causes. They are logged in full (`-v`); only the essential part
//! is shown.

use std::error::Error;

use contract::text::one_line;
use rmcp::ServiceError;
use rmcp::model::{ErrorCode, ErrorData};
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

/// Maximum characters of a server's text, which is shown on one line.
const MAX_TEXT: usize = 300;

/// The reason a call to a remote server got no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No server listens there, or the host name is unknown.
    #[error("failed to connect to {url}: {reason}")]
    Unreachable { url: String, reason: String },
    #[error("{url} requires a valid token")]
    Unauthenticated { url: String },
    /// The server responds, but does not speak MCP.
    #[error("{url} is not an MCP server: {reason}")]
    NotMcp { url: String, reason: String },
    /// The server returned an error instead of a result. Its text is untrusted and has been made safe to print.
    #[error("the server rejected the call to `{tool}`: {message} ({})", code.0)]
    Refused { tool: String, code: ErrorCode, message: String },
    #[error("failed to open an MCP session with {url}: {reason}")]
    Connect { url: String, reason: String },
    #[error("the call to `{tool}` got no response: {reason}")]
    Call { tool: String, reason: String },
}

impl ClientError {
    pub(super) fn from_connect_error(url: &str, error: &ClientInitializeError) -> Self {
        tracing::info!(url, ?error, "failed to open a session");
        let url = url.to_owned();
        let reason = match last_attempt(error) {
            ClientInitializeError::TransportError { error, .. } => {
                match classify_transport_error(error) {
                    TransportFault::Unreachable(reason) => {
                        return Self::Unreachable { url, reason };
                    }
                    TransportFault::Unauthenticated => return Self::Unauthenticated { url },
                    TransportFault::NotMcp(reason) => return Self::NotMcp { url, reason },
                    TransportFault::Other(reason) => reason,
                }
            }
            ClientInitializeError::JsonRpcError(error) => {
                format!("server error: {} ({})", format_error(error), error.code.0)
            }
            ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
                let versions: Vec<_> =
                    server_supported.iter().map(|version| one_line(version.as_str())).collect();
                format!("the server supports only protocol versions {}", versions.join(", "))
            }
            ClientInitializeError::ConnectionClosed(_) => {
                "the server closed the connection".to_owned()
            }
            _ => {
                let reason = "handshake failed".to_owned();
                return Self::NotMcp { url, reason };
            }
        };
        Self::Connect { url, reason }
    }

    pub(super) fn from_call_error(url: &str, tool: &str, error: &ServiceError) -> Self {
        tracing::info!(url, tool, ?error, "call got no response");
        let (url, tool) = (url.to_owned(), tool.to_owned());
        let reason = match error {
            ServiceError::McpError(error) => {
                return Self::Refused { tool, code: error.code, message: format_error(error) };
            }
            ServiceError::TransportSend(error) => match classify_transport_error(error) {
                TransportFault::Unreachable(reason) => return Self::Unreachable { url, reason },
                TransportFault::Unauthenticated => return Self::Unauthenticated { url },
                TransportFault::NotMcp(reason) | TransportFault::Other(reason) => reason,
            },
            ServiceError::TransportClosed => "the server closed the connection".to_owned(),
            ServiceError::InputRequiredRoundsExceeded { max_rounds } => {
                format!("the server still requires input after {max_rounds} rounds")
            }
            _ => "unexpected response to a tool call".to_owned(),
        };
        Self::Call { tool, reason }
    }
}

/// Returns the error of the last attempt. If both the stateless revision and the handshake failed, the error of the
/// handshake is more informative.
fn last_attempt(error: &ClientInitializeError) -> &ClientInitializeError {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => last_attempt(fallback),
        error => error,
    }
}

enum TransportFault {
    Unreachable(String),
    Unauthenticated,
    NotMcp(String),
    Other(String),
}

fn classify_transport_error(error: &DynamicTransportError) -> TransportFault {
    type HttpError = StreamableHttpError<reqwest::Error>;
    let Some(error) = error.error.downcast_ref::<HttpError>() else {
        return TransportFault::Other("connection lost".to_owned());
    };
    match error {
        StreamableHttpError::Client(error) if error.is_connect() => {
            TransportFault::Unreachable(root_cause(error))
        }
        StreamableHttpError::Client(error) if error.is_timeout() => {
            TransportFault::Other("the server did not respond in time".to_owned())
        }
        StreamableHttpError::Client(error) => match error.status() {
            Some(status) => classify_status(status.as_u16()),
            None => TransportFault::NotMcp(root_cause(error)),
        },
        StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => {
            TransportFault::Unauthenticated
        }
        StreamableHttpError::HttpStatus(error) => classify_status(error.status),
        // The SDK provides the status only as a prefix of the text.
        StreamableHttpError::UnexpectedServerResponse(text) => {
            let status = text.strip_prefix("HTTP ").and_then(|rest| rest.get(..3)?.parse().ok());
            status.map_or_else(
                || TransportFault::NotMcp("the response is not an MCP message".to_owned()),
                classify_status,
            )
        }
        StreamableHttpError::UnexpectedContentType(Some(kind)) => {
            TransportFault::NotMcp(format!("the response has content type {}", truncate_line(kind)))
        }
        StreamableHttpError::UnexpectedEndOfStream => {
            TransportFault::Other("the response ended early".to_owned())
        }
        StreamableHttpError::UnexpectedContentType(None) | StreamableHttpError::Deserialize(_) => {
            TransportFault::NotMcp("the response is not an MCP message".to_owned())
        }
        _ => TransportFault::Other("connection lost".to_owned()),
    }
}

fn classify_status(status: u16) -> TransportFault {
    match status {
        401 | 403 => TransportFault::Unauthenticated,
        429 | 500.. => TransportFault::Other(format!("the server responded with HTTP {status}")),
        _ => TransportFault::NotMcp(format!("the server responded with HTTP {status}")),
    }
}

/// Returns the root cause. An HTTP client wraps it three times in less specific errors.
fn root_cause(mut error: &dyn Error) -> String {
    while let Some(source) = error.source() {
        error = source;
    }
    truncate_line(&error.to_string())
}

fn format_error(error: &ErrorData) -> String {
    truncate_line(&error.message)
}

fn truncate_line(text: &str) -> String {
    let cut: String = text.chars().take(MAX_TEXT).collect();
    one_line(&cut)
}
