//! The three tools: their wire types, contracts and rules. The modules beside this one do the work.

mod hello;
mod read_repo_file;
mod write_memory_entry;

pub(crate) use hello::Hello;
pub(crate) use read_repo_file::ReadRepoFile;
pub(crate) use write_memory_entry::WriteMemoryEntry;
