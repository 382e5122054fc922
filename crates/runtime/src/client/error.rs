//! Why a call to a server did not come to an answer, in words for the person who made it.
//!
//! The SDK's errors name its own types and repeat their causes; they go to the log (`-v`), and what matters of them here.

use std::error::Error;

use contract::text::one_line;
use rmcp::ServiceError;
use rmcp::model::{ErrorCode, ErrorData};
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

/// Longer texts of a server are cut: they are shown on one line.
const MAX_TEXT: usize = 300;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nothing listens there, or the name is not known.
    #[error("cannot reach {url}: {reason}")]
    Unreachable { url: String, reason: String },
    #[error("{url} wants a token that it knows")]
    Unauthenticated { url: String },
    /// Something answers, but it speaks no MCP.
    #[error("{url} answers, but not as an MCP server: {reason}")]
    NotMcp { url: String, reason: String },
    /// The server's own error instead of a result. The text is a stranger's, made safe to print.
    #[error("the server refuses the call of `{tool}`: {message} ({})", code.0)]
    Refused { tool: String, code: ErrorCode, message: String },
    #[error("cannot open an MCP session with {url}: {reason}")]
    Connect { url: String, reason: String },
    #[error("the call of `{tool}` got no answer: {reason}")]
    Call { tool: String, reason: String },
}

impl ClientError {
    pub(super) fn connect(url: &str, error: &ClientInitializeError) -> Self {
        tracing::info!(url, ?error, "no session");
        let url = url.to_owned();
        let reason = match last_attempt(error) {
            ClientInitializeError::TransportError { error, .. } => match fault(error) {
                Fault::Unreachable(reason) => return Self::Unreachable { url, reason },
                Fault::Unauthenticated => return Self::Unauthenticated { url },
                Fault::NotMcp(reason) => return Self::NotMcp { url, reason },
                Fault::Other(reason) => reason,
            },
            ClientInitializeError::JsonRpcError(error) => {
                format!("it says {} ({})", shown(error), error.code.0)
            }
            ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
                let versions: Vec<_> =
                    server_supported.iter().map(|version| one_line(version.as_str())).collect();
                format!("it speaks other revisions of the protocol: {}", versions.join(", "))
            }
            ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
            _ => {
                let reason = "the handshake failed".to_owned();
                return Self::NotMcp { url, reason };
            }
        };
        Self::Connect { url, reason }
    }

    pub(super) fn call(url: &str, tool: &str, error: &ServiceError) -> Self {
        tracing::info!(url, tool, ?error, "no answer");
        let (url, tool) = (url.to_owned(), tool.to_owned());
        let reason = match error {
            ServiceError::McpError(error) => {
                return Self::Refused { tool, code: error.code, message: shown(error) };
            }
            ServiceError::TransportSend(error) => match fault(error) {
                Fault::Unreachable(reason) => return Self::Unreachable { url, reason },
                Fault::Unauthenticated => return Self::Unauthenticated { url },
                Fault::NotMcp(reason) | Fault::Other(reason) => reason,
            },
            ServiceError::TransportClosed => "the server closed the connection".to_owned(),
            ServiceError::InputRequiredRoundsExceeded { max_rounds } => {
                format!("the server asks for more after {max_rounds} rounds")
            }
            _ => "the server's answer is not one to a call".to_owned(),
        };
        Self::Call { tool, reason }
    }
}

/// Where the revision without a handshake failed and then the handshake too, the latter tells more.
fn last_attempt(error: &ClientInitializeError) -> &ClientInitializeError {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => last_attempt(fallback),
        error => error,
    }
}

enum Fault {
    Unreachable(String),
    Unauthenticated,
    NotMcp(String),
    Other(String),
}

fn fault(error: &DynamicTransportError) -> Fault {
    type HttpError = StreamableHttpError<reqwest::Error>;
    let Some(error) = error.error.downcast_ref::<HttpError>() else {
        return Fault::Other("the connection broke".to_owned());
    };
    match error {
        StreamableHttpError::Client(error) if error.is_connect() => {
            Fault::Unreachable(deepest(error))
        }
        StreamableHttpError::Client(error) if error.is_timeout() => {
            Fault::Other("it did not answer in time".to_owned())
        }
        StreamableHttpError::Client(error) => match error.status() {
            Some(status) => of_status(status.as_u16()),
            None => Fault::NotMcp(deepest(error)),
        },
        StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => {
            Fault::Unauthenticated
        }
        StreamableHttpError::HttpStatus(error) => of_status(error.status),
        // The SDK has the status only as the beginning of its text.
        StreamableHttpError::UnexpectedServerResponse(text) => {
            let status = text.strip_prefix("HTTP ").and_then(|rest| rest.get(..3)?.parse().ok());
            status
                .map_or_else(|| Fault::NotMcp("its answer is no MCP message".to_owned()), of_status)
        }
        StreamableHttpError::UnexpectedContentType(Some(kind)) => {
            Fault::NotMcp(format!("its answer is {}", short(kind)))
        }
        StreamableHttpError::UnexpectedEndOfStream => {
            Fault::Other("its answer ends in the middle".to_owned())
        }
        StreamableHttpError::UnexpectedContentType(None) | StreamableHttpError::Deserialize(_) => {
            Fault::NotMcp("its answer is no MCP message".to_owned())
        }
        _ => Fault::Other("the connection broke".to_owned()),
    }
}

fn of_status(status: u16) -> Fault {
    match status {
        401 | 403 => Fault::Unauthenticated,
        429 | 500.. => Fault::Other(format!("it answers with HTTP {status}")),
        _ => Fault::NotMcp(format!("it answers with HTTP {status}")),
    }
}

/// The first cause: an HTTP client wraps it three times in words that say less.
fn deepest(mut error: &dyn Error) -> String {
    while let Some(source) = error.source() {
        error = source;
    }
    short(&error.to_string())
}

fn shown(error: &ErrorData) -> String {
    short(&error.message)
}

fn short(text: &str) -> String {
    let cut: String = text.chars().take(MAX_TEXT).collect();
    one_line(&cut)
}
