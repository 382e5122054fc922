//! The server that the official MCP conformance suite runs against. It is the product's runtime with the tools and
//! resources that the suite expects, instead of a pack.
//!
//! It serves streamable HTTP on a free loopback port, prints the URL to stderr, and keeps its state in a temporary folder.

#![expect(clippy::print_stderr, reason = "a test program prints its URL to stderr")]

mod fixture;
mod input_requests;
mod resources;
mod tools;

use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;

use runtime::transports::http::{HttpOptions, HttpTransport};
use runtime::transports::mcp::ServerIdentity;
use runtime::{Catalog, Pipeline, PipelineOptions};
use store::audit::{AuditKeyLocation, AuditLog, AuditOptions};
use store::{SqliteStore, StateDir};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut catalog = Catalog::default();
    for fixture in tools::all_tools() {
        let (contract, invoker) = fixture.into_entry()?;
        catalog.add_invoker(contract, invoker)?;
    }
    catalog.add_resources(Arc::new(resources::FixtureResources), |_| {})?;
    let folder = tempfile::tempdir()?;
    let state = StateDir::open(folder.path())?;
    let store = Arc::new(SqliteStore::open(&state)?);
    let keys = AuditKeyLocation::new(folder.path().join("audit-keys"));
    let audit = AuditLog::open(state.audit_log_path(), &AuditOptions::new(keys))?;
    let pipeline = Pipeline::new(catalog, store, audit, PipelineOptions::default()).await?;

    let identity = ServerIdentity {
        name: "vouchsafe-conformance".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        instructions: None,
    };
    let options = HttpOptions::new((Ipv4Addr::LOCALHOST, 0).into());
    let transport = HttpTransport::bind(pipeline, identity, options).await?;
    eprintln!("http://{}/mcp", transport.address());
    transport.serve(CancellationToken::new()).await?;
    Ok(())
}
