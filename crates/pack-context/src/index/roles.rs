//! Maps the role of a file to its ranking role and queue priority, and decides what is embedded.

use rank::DocumentRole as RankingRole;
use source::FileRole;

use super::analysis_queue::{FilePriority, LOWEST_PRIORITY};

/// Names of folders with examples or benchmarks.
const EXAMPLE_FOLDERS: [&str; 9] =
    ["example", "examples", "demo", "demos", "sample", "samples", "bench", "benches", "benchmarks"];

/// Returns the ranking role of a file.
pub(crate) fn to_ranking_role(path: &str, role: FileRole) -> RankingRole {
    let is_example = path.split('/').rev().skip(1).any(|folder| EXAMPLE_FOLDERS.contains(&folder));
    match role {
        FileRole::Generated => RankingRole::Generated,
        FileRole::Entry | FileRole::Core | FileRole::Test if is_example => RankingRole::Example,
        FileRole::Entry | FileRole::Core => RankingRole::Source,
        FileRole::Test => RankingRole::Test,
        FileRole::Config => RankingRole::Config,
        FileRole::Docs => RankingRole::Docs,
    }
}

/// Returns the queue priority of a role. Files that say most about a project go first.
pub(crate) fn priority_for_role(role: RankingRole) -> FilePriority {
    match role {
        RankingRole::Record => 0,
        RankingRole::Source => 1,
        RankingRole::Docs => 2,
        RankingRole::Config => 3,
        RankingRole::Example => 4,
        RankingRole::Test => 5,
        RankingRole::Generated => LOWEST_PRIORITY,
    }
}

/// Returns false for generated files. They take longest to embed, and lexical search is sufficient for them.
pub(crate) fn is_embedded_role(role: RankingRole) -> bool {
    role != RankingRole::Generated
}
