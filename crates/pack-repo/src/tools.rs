//! The three tools: their wire types, contracts and rules. The actual work happens in `memory.rs` and the crate
//! `guard`.

mod hello;
mod read_repo_file;
mod write_memory_entry;

pub(crate) use hello::HelloTool;
pub(crate) use read_repo_file::ReadRepoFileTool;
pub(crate) use write_memory_entry::WriteMemoryEntryTool;
