//! Equality with ripgrep: the same matches, lines, columns, totals and numbers of files as `rg --json`, for generated
//! patterns and globs, with and without the index, and after random edits, renames, deletions and git checkouts.
//!
//! It needs ripgrep and the packages of the end-to-end tests, so `cargo xtask test --only search` runs it; that sets
//! `RIPGREP_BIN`. A failure names its seed; `SEARCH_SEED` tries another.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod edits;
mod patterns;
mod rg;
mod sample;
mod subject;

use std::path::Path;

use crate::patterns::Patterns;
use crate::sample::{Dice, Sample};
use crate::subject::Subject;

/// How many patterns are tried on each of the three trees, before it changes and after.
const PATTERNS: usize = 670;
const ROUNDS: usize = 20;
const PATTERNS_OF_A_ROUND: usize = 6;
/// How many files a tree has, about: a process of ripgrep takes longer to start than to search them.
const FILES: usize = 80;

fn check(source: &str) {
    let seed = std::env::var("SEARCH_SEED").map_or(20_261_116, |seed| seed.parse().unwrap());
    let mut dice = Dice::new(seed);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let sample = Sample::of(&workspace.join(source), FILES, &mut dice);
    let subject = Subject::open(sample.root(), seed);
    let mut patterns = Patterns::new(&sample);
    for _ in 0..PATTERNS {
        subject.compare(&patterns.query(&mut dice));
    }
    edits::begin(sample.root());
    subject.changed();
    for _ in 0..ROUNDS {
        let words = edits::change(sample.root(), &mut dice);
        subject.changed();
        for _ in 0..PATTERNS_OF_A_ROUND {
            subject.compare(&patterns.query_near(&words, &mut dice));
        }
    }
    assert!(subject.found() > PATTERNS as u64, "most patterns should match something");
}

#[test]
#[ignore = "run by `cargo xtask test --only search`, which brings ripgrep"]
fn this_repository() {
    check("crates");
}

#[test]
#[ignore = "run by `cargo xtask test --only search`, which brings ripgrep"]
fn npm_packages() {
    check("e2e/node_modules");
}

#[test]
#[ignore = "run by `cargo xtask test --only search`, which brings ripgrep"]
fn python_packages() {
    check("e2e/.venv/lib");
}
