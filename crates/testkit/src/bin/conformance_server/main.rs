//! The server that the official MCP conformance suite is run against: the product's runtime, with the tools and
//! resources that the suite asks for by name instead of a pack.
//!
//! It serves streamable HTTP on a free loopback port, names the URL on stderr, and keeps its state in a temporary folder.

#![expect(clippy::print_stderr, reason = "a test program says on stderr where it listens")]

mod fixture;
mod questions;
mod resources;
mod tools;

use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;

use runtime::doors::http::{HttpDoor, HttpOptions};
use runtime::doors::mcp::Face;
use runtime::{Catalog, Pipeline, PipelineOptions};
use store::audit::AuditLog;
use store::{SqliteStore, StateDir};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut catalog = Catalog::default();
    for fixture in tools::all() {
        let (contract, invoker) = fixture.into_entry()?;
        catalog.add(contract, invoker)?;
    }
    catalog.add_resources(Arc::new(resources::Shelf), |_| {})?;
    let folder = tempfile::tempdir()?;
    let state = StateDir::open(folder.path())?;
    let store = Arc::new(SqliteStore::open(&state)?);
    let audit = AuditLog::open(state.audit_log())?;
    let pipeline = Pipeline::new(catalog, store, audit, PipelineOptions::default()).await?;

    let face = Face {
        name: "vouchsafe-conformance".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        instructions: None,
    };
    let options = HttpOptions::new((Ipv4Addr::LOCALHOST, 0).into());
    let door = HttpDoor::bind(pipeline, face, options).await?;
    eprintln!("http://{}/mcp", door.address());
    door.serve(CancellationToken::new()).await?;
    Ok(())
}
