//! Compares `grep_codebase` with ripgrep: the same matches, lines, columns, totals and file counts as `rg --json`.
//!
//! PatternGenerator and globs are generated. Searches run with and without the index, and after random edits, renames, deletions
//! and git checkouts.
//!
//! The tests need ripgrep and the packages of the end-to-end tests. Run them with `cargo xtask test --only search`, which
//! sets `RIPGREP_BIN`. A failure prints its seed; set `SEARCH_SEED` to use another.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod comparison;
mod edits;
mod patterns;
mod rg;
mod sample;

use std::path::Path;

use crate::comparison::SearchComparison;
use crate::patterns::PatternGenerator;
use crate::sample::{SampleTree, SeededRng};

/// Number of patterns tried on each of the three trees before it is edited.
const PATTERNS: usize = 670;
const ROUNDS: usize = 20;
const PATTERNS_PER_ROUND: usize = 6;
/// Approximate number of files per tree; ripgrep takes longer to start than to search them.
const FILES: usize = 80;

fn compare_with_ripgrep(source: &str) {
    let seed = std::env::var("SEARCH_SEED").map_or(20_261_116, |seed| seed.parse().unwrap());
    let mut rng = SeededRng::new(seed);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let sample = SampleTree::copy_from(&workspace.join(source), FILES, &mut rng);
    let comparison = SearchComparison::open(sample.root(), seed);
    let mut patterns = PatternGenerator::new(&sample);
    for _ in 0..PATTERNS {
        comparison.compare_query(&patterns.random_query(&mut rng));
    }
    edits::init_repository(sample.root());
    comparison.clear_file_cache();
    for _ in 0..ROUNDS {
        let words = edits::apply_random_edits(sample.root(), &mut rng);
        comparison.clear_file_cache();
        for _ in 0..PATTERNS_PER_ROUND {
            comparison.compare_query(&patterns.random_query_for(&words, &mut rng));
        }
    }
    assert!(comparison.total_found() > PATTERNS as u64, "most patterns should match something");
}

#[test]
#[ignore = "run by `cargo xtask test --only search`, which installs ripgrep"]
fn matches_ripgrep_on_this_repository() {
    compare_with_ripgrep("crates");
}

#[test]
#[ignore = "run by `cargo xtask test --only search`, which installs ripgrep"]
fn matches_ripgrep_on_npm_packages() {
    compare_with_ripgrep("e2e/node_modules");
}

#[test]
#[ignore = "run by `cargo xtask test --only search`, which installs ripgrep"]
fn matches_ripgrep_on_python_packages() {
    compare_with_ripgrep("e2e/.venv/lib");
}
