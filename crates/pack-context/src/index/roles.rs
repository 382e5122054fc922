//! What a file's purpose means for its rank, for the order of work, and for what is embedded.

use rank::Role as Ranked;
use source::Role;

use super::work::{LEAST_URGENT, Urgency};

/// Folders of what shows how something is used, or how quick it is.
const EXAMPLES: [&str; 9] =
    ["example", "examples", "demo", "demos", "sample", "samples", "bench", "benches", "benchmarks"];

pub(crate) fn in_ranking(path: &str, role: Role) -> Ranked {
    let is_example = path.split('/').rev().skip(1).any(|folder| EXAMPLES.contains(&folder));
    match role {
        Role::Generated => Ranked::Generated,
        Role::Entry | Role::Core | Role::Test if is_example => Ranked::Example,
        Role::Entry | Role::Core => Ranked::Source,
        Role::Test => Ranked::Test,
        Role::Config => Ranked::Config,
        Role::Docs => Ranked::Docs,
    }
}

/// Which files are looked at first: what tells most about a project, before what tells least.
pub(crate) fn urgency(role: Ranked) -> Urgency {
    match role {
        Ranked::Record => 0,
        Ranked::Source => 1,
        Ranked::Docs => 2,
        Ranked::Config => 3,
        Ranked::Example => 4,
        Ranked::Test => 5,
        Ranked::Generated => LEAST_URGENT,
    }
}

/// What programs write is found by its words. Nobody asks what it means, and it would take the longest to embed.
pub(crate) fn is_embedded(role: Ranked) -> bool {
    role != Ranked::Generated
}
