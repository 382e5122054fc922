//! MCP over standard input and output. Nothing else may ever write to standard output.
//!
//! One message a line. The transport is our own, because the SDK's drops what it cannot read without a word, and forgets
//! calls that outlive the input. Start reading at [`transport::LineTransport`].

mod ledger;
mod lines;
mod message;
mod transport;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::DynamicTransportError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::DRAIN_LIMIT;
use super::mcp::McpDoor;
use transport::LineTransport;

#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    #[error("the MCP handshake on standard input failed")]
    Handshake(#[source] Box<ServerInitializeError>),
    #[error("the MCP session on standard input ended badly")]
    Session(#[source] tokio::task::JoinError),
    #[error(
        "the calls in flight were not answered within {} s of being told to stop",
        DRAIN_LIMIT.as_secs()
    )]
    Overdue,
}

/// Serves until standard input ends or `stop` is cancelled; either way the calls in flight get their answers.
pub async fn serve(door: McpDoor, stop: CancellationToken) -> Result<(), StdioError> {
    // Not `stdio()`: that hands every read and write to a thread that may block.
    let (input, output) = rmcp::transport::stdio_pipes();
    serve_over(door, input, output, stop).await
}

/// The same over any pair of streams.
pub async fn serve_over<R, W>(
    door: McpDoor,
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
        served = session(door, input, output, stop.clone()) => served,
        () = overdue => Err(StdioError::Overdue),
    }
}

async fn session<R, W>(
    door: McpDoor,
    input: R,
    output: W,
    stop: CancellationToken,
) -> Result<(), StdioError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let open = Arc::new(AtomicBool::new(false));
    let transport = LineTransport::new(input, output, stop, Arc::clone(&open));
    let door = door.with_session_of_its_own().closing_with(transport.closing());
    let session = match door.serve(transport).await {
        Ok(session) => session,
        // A client that leaves before the session has begun has done nothing wrong.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(ServerInitializeError::TransportError { error, .. }) if is_gone(&error) => {
            return Ok(());
        }
        Err(error) => return Err(StdioError::Handshake(Box::new(error))),
    };
    open.store(true, Ordering::Relaxed);
    session.waiting().await.map_err(StdioError::Session)?;
    Ok(())
}

fn is_gone(error: &DynamicTransportError) -> bool {
    let error = error.error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
