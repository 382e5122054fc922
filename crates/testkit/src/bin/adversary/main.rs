//! The adversary: a scripted MCP server that violates its contracts, for tests of everything that must survive one.
//!
//! Each tool misbehaves in one way and is named after it. The flags in [`args`] make the server as a whole misbehave.
//! The server is written on plain JSON-RPC, because no SDK can send two responses or half a response. Otherwise it is a
//! strict server of both protocol eras, so that a faulty client does not pass by accident. The tool `count` reports
//! which calls arrived, so a test can prove that a call did not arrive.

#![expect(clippy::print_stderr, reason = "a test program reports errors on stderr")]

mod args;
mod connection;
mod http;
mod messages;
mod shared_state;
mod stdio;
mod tool_list;
mod tools;

use std::error::Error;
use std::process::Stdio;

use clap::Parser;

use args::AdversaryArgs;
use shared_state::SharedState;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = AdversaryArgs::parse();
    if args.exit_at_start {
        eprintln!("adversary: no such database");
        std::process::exit(3);
    }
    let grandchild = match args.grandchild {
        true => Some(
            tokio::process::Command::new("sleep")
                .arg("600")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?,
        ),
        false => None,
    };
    if args.stubborn {
        ignore_signals()?;
    }
    let http = args.http;
    let shared = SharedState::new(args, grandchild.and_then(|child| child.id()))?;
    if http { http::serve_http(shared).await } else { stdio::serve_stdio(shared).await }
}

/// Installs signal handlers that do nothing, so that SIGTERM and SIGINT do not end the process.
fn ignore_signals() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let mut signals = signal(kind)?;
        tokio::spawn(async move { while signals.recv().await.is_some() {} });
    }
    Ok(())
}
