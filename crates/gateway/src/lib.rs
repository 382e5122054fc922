//! Serves the tools of upstream MCP servers as live entries of the catalog.
//!
//! ```text
//!  link ── tools/list ──► admit ── admitted tools with contracts ──► runtime::Catalog ──► every transport
//!    ▲                      ▲ overlays (contracts/), pins (vouch.lock)
//!    └────── calls ◄── UpstreamTool (a runtime::Invoker): the pipeline validates arguments and answers
//! ```
//!
//! This crate connects these parts and keeps the catalog current: it opens all connections at once, lists tools again
//! when a server reports a change, and publishes the tools that may be called. It has no rules of its own: `admit`
//! decides which tools run, `runtime` enforces their contracts. Start reading at [`Gateway`], then `UpstreamTool`.

mod catalog;
mod error;
mod file_trust;
mod gateway;
mod invoke;
mod lockfile;
mod options;
mod overlays;
mod parking;
mod refresh;
mod relay;
mod samples;
mod upstream;

pub use catalog::NameClash;
pub use error::GatewayError;
pub use file_trust::FileTrust;
pub use gateway::{BaseCatalogBuilder, Gateway};
pub use lockfile::{LockFile, LockFileError};
pub use options::{ConstraintAdjuster, GatewayOptions, UpstreamOptions};
pub use overlays::{OverlayFileError, read_overlays};
pub use samples::{SamplesError, read_samples};
pub use upstream::{GatewayUpstream, UpstreamSnapshot};
