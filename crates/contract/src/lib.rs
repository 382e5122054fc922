//! Tool contracts: the agreement between the provider of a tool and its callers.
//!
//! This crate owns the [`Contract`] with its schemas and [`Constraints`], the [`ErrorCode`]s, the [`Tool`],
//! [`ResourceProvider`] and [`CallPolicy`] traits that packs and policies implement, and the digest that identifies a
//! definition. The rules that check a definition are in the crate `lint`.
//!
//! It contains no async runtime, no I/O and no MCP SDK; the code that runs a tool brings those. Start reading at
//! [`Contract`], then [`Tool`].

mod canonical;
mod constraints;
mod definition;
mod derived_schema;
mod error;
pub mod json;
mod markdown;
mod policy;
mod resources;
mod schema;
pub mod text;
pub mod time;
mod tool;

pub use canonical::{canonical_json, sha256_digest, sha256_value_digest};
pub use constraints::{Constraints, SideEffects};
pub use definition::{Contract, ContractError, ToolDefinition, ToolExample};
pub use derived_schema::derive_schema;
pub use error::{ErrorCode, ToolError};
pub use markdown::to_markdown;
pub use policy::{CallPolicy, PolicySubject, PolicyVerdict};
pub use resources::{Resource, ResourceBody, ResourceContent, ResourceProvider, ResourceTemplate};
pub use schema::cost::BACKTRACKING_COST;
pub use schema::keywords;
pub use schema::{
    MAX_SCHEMA_BYTES, MAX_SCHEMA_COST, MAX_SCHEMA_DEPTH, Schema, SchemaDraft, SchemaError,
    SchemaViolation,
};
pub use tool::{
    CallContext, Caller, ContentBlock, Progress, RawResult, Tool, ToolOutput, parse_arguments,
    to_output,
};
