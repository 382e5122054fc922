//! What a tool contract is, and how it is kept.
//!
//! This crate owns the words of the agreement between the one who offers a tool and the one who calls it: the
//! [`Contract`] with its schemas and [`Constraints`], the error [`Code`]s, the [`Tool`], [`Resources`] and [`CallPolicy`] traits that
//! an outsider implements, and the digest that names a definition. The rules that judge a definition are in the crate `lint`.
//!
//! It knows no async runtime, no I/O and no MCP SDK: whoever runs a tool brings those. Start reading at
//! [`Contract`], then [`Tool`].

mod canonical;
mod constraints;
mod definition;
mod error;
pub mod json;
mod markdown;
mod policy;
mod resources;
mod schema;
mod schema_of;
pub mod text;
pub mod time;
mod tool;

pub use canonical::{canonical_json, sha256_of, sha256_of_value};
pub use constraints::{Constraints, SideEffects};
pub use definition::{Contract, ContractError, Definition, Example};
pub use error::{Code, ToolError};
pub use markdown::to_markdown;
pub use policy::{CallPolicy, PolicySubject, PolicyVerdict};
pub use resources::{Resource, ResourceBody, ResourceContent, ResourceTemplate, Resources};
pub use schema::cost::BACKTRACKING_COST;
pub use schema::keywords;
pub use schema::{
    Draft, MAX_SCHEMA_BYTES, MAX_SCHEMA_COST, MAX_SCHEMA_DEPTH, Schema, SchemaError, Violation,
};
pub use schema_of::schema_of;
pub use tool::{CallContext, Caller, Content, Output, Progress, Raw, Tool, parse, to_output};
