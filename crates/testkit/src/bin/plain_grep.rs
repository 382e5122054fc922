//! `grep_codebase`'s search without an index, again and again, for `cargo xtask bench context`.
//!
//! Prints one line of JSON for each round: microseconds and matching lines.

#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::path::PathBuf;
use std::time::Instant;

use guard::DenyList;
use tree::Tree;
use tree::grep::{Query, search};

const LIMIT: usize = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [root, pattern, rounds] = arguments.as_slice() else {
        return Err("usage: plain_grep ROOT PATTERN ROUNDS".into());
    };
    let tree = Tree::new(&PathBuf::from(root), DenyList::default().with("node_modules"))?;
    for _ in 0..rounds.parse::<usize>()? {
        let start = Instant::now();
        let query = Query::new(pattern, true)?.limit(LIMIT);
        let found = search(&tree, &query, None, &|| false)?;
        println!("[{}, {}]", start.elapsed().as_micros(), found.total);
    }
    Ok(())
}
