//! The three tools of the pack: wire types, contracts and input checks. The index and the other modules do the work.

mod context_search;
mod grep_codebase;
mod read_file;

pub(crate) use context_search::ContextSearch;
pub(crate) use grep_codebase::GrepCodebase;
pub(crate) use read_file::{ProjectContext, ReadFile};
