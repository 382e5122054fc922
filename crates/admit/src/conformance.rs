//! Conformance reports on the tools of an MCP server, for people, programs and CI.
//!
//! A [`ConformanceReport`] is built from a server's `tools/list` or from an [`Admission`](crate::Admission). It opens
//! no connection and prints nothing: `cli` lists the tools and prints the [`ReportRow`]s, the JSON or the SARIF.

mod fix;
mod json;
mod report;
mod sarif;
mod table;

pub use fix::{OverlayFix, fix_overlays};
pub use report::{ConformanceReport, ServerId, ToolReport, to_upstream_name};
pub use table::ReportRow;
