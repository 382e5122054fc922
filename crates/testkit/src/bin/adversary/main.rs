//! The adversary: a scripted MCP server that breaks its word, for the tests of everything that must survive one.
//!
//! Each tool misbehaves in one way, named after it; the switches of [`args`] misbehave for the server as a whole. It is
//! written on bare JSON-RPC because no SDK lets one answer twice or half. Where it is not asked to misbehave it is a
//! strict server of both protocol eras, so that a client cannot pass by luck. `count` tells which calls arrived: that
//! is how a test proves that one did not.

#![expect(clippy::print_stderr, reason = "a test program complains on stderr")]

mod acts;
mod args;
mod http;
mod offer;
mod stdio;
mod talk;
mod wire;
mod world;

use std::error::Error;
use std::process::Stdio;

use clap::Parser;

use args::Args;
use world::World;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
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
    let world = World::new(args, grandchild.and_then(|child| child.id()))?;
    if http { http::serve(world).await } else { stdio::serve(world).await }
}

/// A listener of one's own takes the place of dying.
fn ignore_signals() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let mut signals = signal(kind)?;
        tokio::spawn(async move { while signals.recv().await.is_some() {} });
    }
    Ok(())
}
