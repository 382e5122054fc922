//! One connection over stdin and stdout.

use std::error::Error;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::talk::Line;
use crate::wire::{Outbox, Refusal};
use crate::world::World;

pub(crate) async fn serve(world: Arc<World>) -> Result<(), Box<dyn Error>> {
    let (out, mut sent) = Outbox::new();
    tokio::spawn(async move {
        let mut stdout = tokio::io::stdout();
        while let Some(mut line) = sent.recv().await {
            line.push('\n');
            // Whoever started us closes stdin when they go; nothing is left to say to them here.
            if stdout.write_all(line.as_bytes()).await.is_err() || stdout.flush().await.is_err() {
                break;
            }
        }
    });
    let line = Arc::new(Line::new(world.clone()));
    line.tell_changes(out.clone());
    let mut stdin = BufReader::new(tokio::io::stdin()).lines();
    while let Some(text) = stdin.next_line().await? {
        match serde_json::from_str::<Value>(&text) {
            Ok(message) => {
                world.record(&message, None);
                line.clone().receive(message, out.clone());
            }
            Err(error) => {
                out.say(Refusal::new(-32700, error.to_string()).frame(&Value::Null).to_string());
            }
        }
    }
    if world.args.stubborn {
        std::future::pending::<()>().await;
    }
    // Calls that never end would keep the runtime alive.
    std::process::exit(0);
}
