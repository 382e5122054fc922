//! The context pack: `context_search`, `read_file` and `grep_codebase` over one project.
