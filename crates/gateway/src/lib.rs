//! Upstream servers as live entries of the catalog.
//!
//! ```text
//!  link ── tools/list ──► admit ── which may run, under which contract ──► runtime::Catalog ──► every front door
//!    ▲                      ▲ overlays (contracts/), pins (vouch.lock)
//!    └────────── calls ◄── UpstreamTool (a runtime::Invoker): the pipeline validates before it leaves and when it returns
//! ```
//!
//! This crate ties the parts together and keeps them current: it opens all connections at once, lists again when a
//! server says so, and publishes what may be called. It owns no rule of its own: what may run is decided by `admit`, what
//! a call goes through by `runtime`. Start reading at [`Gateway`], then `UpstreamTool`.

mod catalog;
mod error;
mod gateway;
mod invoke;
mod keep;
mod lockfile;
mod options;
mod overlays;
mod parking;
mod relay;
mod samples;
mod upstream;

pub use catalog::Clash;
pub use error::GatewayError;
pub use gateway::{Base, Gateway};
pub use lockfile::{LockFile, LockFileError};
pub use options::{Adjust, Options, UpstreamOptions};
pub use overlays::{OverlayFileError, read_overlays};
pub use samples::{SamplesError, read_samples};
pub use upstream::{Upstream, View};
