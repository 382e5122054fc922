//! MCP over standard input and output. No other code may write to standard output.
//!
//! Each line is one message. The SDK's transport is not used, because it silently drops unreadable messages and
//! abandons calls that outlive the input. Start reading at `transport::LineTransport`.

mod direct;
mod line_reader;
mod message;
mod pending_requests;
mod transport;

/// Parses a line and formats the answer to an invalid one, for `crate::fuzzing`.
pub(crate) fn parse_line_for_fuzzing(line: &[u8]) {
    if let Err(fault) = message::parse_message(line) {
        drop(fault.to_reply());
    }
}

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::DynamicTransportError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::DRAIN_LIMIT;
use super::mcp::McpService;
use transport::LineTransport;

/// An error of the stdio transport.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    #[error("MCP handshake on standard input failed")]
    Handshake(#[source] Box<ServerInitializeError>),
    #[error("MCP session on standard input failed")]
    Session(#[source] tokio::task::JoinError),
    #[error(
        "calls in flight did not finish within {} s of the shutdown request",
        DRAIN_LIMIT.as_secs()
    )]
    Overdue,
}

/// Serves until standard input ends or `stop` is cancelled. In both cases the calls in flight are answered first.
pub async fn serve_stdio(service: McpService, stop: CancellationToken) -> Result<(), StdioError> {
    // Not `stdio()`: it runs every read and write on a blocking thread.
    let (input, output) = rmcp::transport::stdio_pipes();
    serve_streams(service, input, output, stop).await
}

/// Serves over any pair of streams. See [`serve_stdio`].
pub async fn serve_streams<R, W>(
    service: McpService,
    input: R,
    output: W,
    stop: CancellationToken,
) -> Result<(), StdioError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let overdue = async {
        stop.cancelled().await;
        tokio::time::sleep(DRAIN_LIMIT).await;
    };
    tokio::select! {
        served = run_session(service, input, output, stop.clone()) => served,
        () = overdue => Err(StdioError::Overdue),
    }
}

async fn run_session<R, W>(
    service: McpService,
    input: R,
    output: W,
    stop: CancellationToken,
) -> Result<(), StdioError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let open = Arc::new(AtomicBool::new(false));
    let service = service.for_local_connection();
    let transport = LineTransport::new(service.clone(), input, output, stop, Arc::clone(&open));
    let service = service.with_shutdown(transport.end_token());
    let session = match service.serve(transport).await {
        Ok(session) => session,
        // A client that disconnects before the session has begun is not an error.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(ServerInitializeError::TransportError { error, .. }) if is_broken_pipe(&error) => {
            return Ok(());
        }
        Err(error) => return Err(StdioError::Handshake(Box::new(error))),
    };
    open.store(true, Ordering::Relaxed);
    session.waiting().await.map_err(StdioError::Session)?;
    Ok(())
}

fn is_broken_pipe(error: &DynamicTransportError) -> bool {
    let error = error.error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
