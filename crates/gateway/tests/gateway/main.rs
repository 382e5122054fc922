//! The gateway between a pipeline and servers that break their word.
//!
//! Everything is real but the wire to the client: children with their keeper, HTTP servers, the store, the audit log.
//! What reached a server is read from the server's own counts, so that "it did not run" is seen and not concluded.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod admission;
mod answers;
mod client;
mod endurance;
mod life;
mod limits;
mod pins;
mod relay;
mod rig;
mod rules;
mod trouble;
