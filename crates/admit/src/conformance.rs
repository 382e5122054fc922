//! The linter for anybody's MCP server: what is wrong with its tools, for people, programs and CI.
//!
//! A [`Report`] is made from a server's `tools/list` alone or from what admission made of it. It knows no connection and
//! prints nothing: `cli` asks the server and prints the [`Row`]s, the JSON or the SARIF.

mod fix;
mod json;
mod report;
mod sarif;
mod table;

pub use fix::{Fix, fix_overlays};
pub use report::{Report, ServerId, ToolReport, upstream_name};
pub use table::Row;
