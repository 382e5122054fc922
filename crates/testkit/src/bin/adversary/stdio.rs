//! Serves one connection over stdin and stdout.

use std::error::Error;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::connection::PeerConnection;
use crate::messages::{MessageSender, RpcError};
use crate::shared_state::SharedState;

pub(crate) async fn serve_stdio(shared: Arc<SharedState>) -> Result<(), Box<dyn Error>> {
    let (out, mut sent) = MessageSender::new();
    tokio::spawn(async move {
        let mut stdout = tokio::io::stdout();
        while let Some(mut line) = sent.recv().await {
            line.push('\n');
            // A parent process that is gone has also closed stdin, which ends the loop below.
            if stdout.write_all(line.as_bytes()).await.is_err() || stdout.flush().await.is_err() {
                break;
            }
        }
    });
    let connection = Arc::new(PeerConnection::new(shared.clone()));
    connection.notify_changes(out.clone());
    let mut stdin = BufReader::new(tokio::io::stdin()).lines();
    while let Some(text) = stdin.next_line().await? {
        match serde_json::from_str::<Value>(&text) {
            Ok(message) => {
                shared.record_message(&message, None);
                connection.clone().handle_message(message, out.clone());
            }
            Err(error) => {
                out.send_line(
                    RpcError::new(-32700, error.to_string()).to_response(&Value::Null).to_string(),
                );
            }
        }
    }
    if shared.args.stubborn {
        std::future::pending::<()>().await;
    }
    // Calls that never end would keep the Tokio runtime alive.
    std::process::exit(0);
}
