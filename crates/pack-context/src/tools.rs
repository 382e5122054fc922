//! The three tools: their wire types, contracts and rules. The modules beside this one do the work.

mod context_search;
mod grep_codebase;
mod read_file;

pub(crate) use context_search::ContextSearch;
pub(crate) use grep_codebase::GrepCodebase;
pub(crate) use read_file::{ReadFile, Surroundings};
