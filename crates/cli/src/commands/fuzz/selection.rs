//! Flags that select the test contracts and tests of a project, as in forge.

use ::fuzz::config::foundry::{NameFilter, PatternError};
use ::fuzz::deploy::TestContractFilter;

use crate::report::{Failure, FailureKind, Result};

/// Selects test contracts and tests by patterns.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Selection of tests")]
pub(super) struct SelectionFlags {
    /// Run the tests of contracts whose name matches this regular expression
    #[arg(long, visible_alias = "mc", value_name = "REGEX", conflicts_with = "contract")]
    match_contract: Option<String>,

    /// Leave out contracts whose name matches this regular expression
    #[arg(long, visible_alias = "nmc", value_name = "REGEX", conflicts_with = "contract")]
    no_match_contract: Option<String>,

    /// Run tests whose signature matches this regular expression
    #[arg(long, visible_alias = "mt", value_name = "REGEX")]
    match_test: Option<String>,

    /// Leave out tests whose signature matches this regular expression
    #[arg(long, visible_alias = "nmt", value_name = "REGEX")]
    no_match_test: Option<String>,

    /// Run the tests of files whose path in the project matches this pattern, such as "test/invariants/*"
    #[arg(long, visible_alias = "mp", value_name = "GLOB", conflicts_with = "contract")]
    match_path: Option<String>,

    /// Leave out files whose path in the project matches this pattern
    #[arg(long, visible_alias = "nmp", value_name = "GLOB", conflicts_with = "contract")]
    no_match_path: Option<String>,
}

impl SelectionFlags {
    /// Returns true if test contracts are selected by a pattern.
    pub(super) fn selects_contracts(&self) -> bool {
        let patterns =
            [&self.match_contract, &self.no_match_contract, &self.match_path, &self.no_match_path];
        patterns.into_iter().any(Option::is_some)
    }

    /// Returns the filter of tests.
    pub(super) fn test_filter(&self) -> Result<NameFilter> {
        NameFilter::new(self.match_test.as_deref(), self.no_match_test.as_deref()).map_err(refuse)
    }

    /// Returns the filter of test contracts.
    pub(super) fn contract_filter(&self) -> Result<TestContractFilter> {
        let (matches, excludes) = (self.match_contract.as_deref(), &self.no_match_contract);
        let names = NameFilter::new(matches, excludes.as_deref()).map_err(refuse)?;
        let (matches, excludes) = (self.match_path.as_deref(), self.no_match_path.as_deref());
        TestContractFilter::new(names, matches, excludes).map_err(refuse)
    }
}

fn refuse(error: PatternError) -> Failure {
    Failure::from(error)
        .with_kind(FailureKind::Usage)
        .with_hint("escape special characters: `--match-test 'deposit\\(uint256\\)'`")
}
