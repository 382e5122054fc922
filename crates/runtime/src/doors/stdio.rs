//! MCP over standard input and output. Nothing else may ever write to standard output.

use rmcp::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;

use super::mcp::McpDoor;

#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    #[error("the MCP handshake on standard input failed")]
    Handshake(#[source] Box<rmcp::service::ServerInitializeError>),
    #[error("the MCP session on standard input ended badly")]
    Session(#[source] tokio::task::JoinError),
}

/// Serves until standard input ends.
pub async fn serve(door: McpDoor) -> Result<(), StdioError> {
    let (input, output) = rmcp::transport::stdio();
    let transport = AsyncRwTransport::new_server(input, output);
    let service =
        door.serve(transport).await.map_err(|error| StdioError::Handshake(Box::new(error)))?;
    service.waiting().await.map_err(StdioError::Session)?;
    Ok(())
}
