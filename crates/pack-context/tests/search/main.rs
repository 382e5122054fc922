//! `context_search` and its index, tested through the tools as the pipeline calls them.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod changes;
#[path = "../common/pipeline_call.rs"]
mod pipeline_call;
mod processes;
mod published_contract;
mod recorded_discoveries;
mod results;
mod secret_files;
mod support;
mod unusual_projects;
mod vectors;
