//! Repeats the search of `grep_codebase` without an index, for `cargo xtask bench context`.
//!
//! Prints one line of JSON for each round: elapsed microseconds and number of matching lines.

#![expect(clippy::print_stdout, reason = "the measurements are the output")]

use std::path::PathBuf;
use std::time::Instant;

use guard::DenyList;
use tree::FileTree;
use tree::grep::{GrepQuery, search_files};

/// Maximum matches returned by a search.
const MAX_MATCHES: usize = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [root, pattern, rounds] = arguments.as_slice() else {
        return Err("usage: plain_grep ROOT PATTERN ROUNDS".into());
    };
    let tree =
        FileTree::new(&PathBuf::from(root), DenyList::default().with_pattern("node_modules"))?;
    for _ in 0..rounds.parse::<usize>()? {
        let start = Instant::now();
        let query = GrepQuery::new(pattern, true)?.with_limit(MAX_MATCHES);
        let found = search_files(&tree, &query, None, &|| false)?;
        println!("[{}, {}]", start.elapsed().as_micros(), found.total);
    }
    Ok(())
}
