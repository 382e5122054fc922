//! `show_coverage`: returns line and branch coverage per smart contract.

use contract::{CallContext, ErrorCode, ToolError, ToolOutput, parse_arguments, to_output};
use coverage::{ContractReport, CoverageRatio, CoverageReport};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{CampaignToolSpec, build_example, read_constraints};
use crate::schema::ToolSchemas;
use crate::text;
use crate::view::CampaignView;

#[derive(Deserialize)]
struct ShowCoverageInput {
    contract: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShowCoverageOutput {
    contracts: Vec<ContractCoverageOutput>,
    overall_coverage: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContractCoverageOutput {
    name: String,
    line_coverage: f64,
    branch_coverage: f64,
}

pub(super) fn build_spec() -> CampaignToolSpec {
    let mut constraints = read_constraints();
    constraints.rules = vec![
        "Percentages have one decimal and are 100 only if coverage is complete; no lines or branches count as 100.".into(),
        "`overallCoverage` covers the lines of all smart contracts, regardless of the filter.".into(),
        "While the campaign runs, the numbers may be up to ten seconds old; after its end they are exact.".into(),
    ];
    CampaignToolSpec {
        title: "Show coverage",
        description: "Returns line and branch coverage of each smart contract in percent, and the coverage of all \
                      lines. It lists contracts that are deployed or whose code ran. A contract that shares its name \
                      with another is named `path:Name`. Use show_source_coverage to see which lines are missing.",
        constraints,
        errors: &[ErrorCode::NotFound],
        examples: vec![
            build_example(
                "all contracts",
                json!({}),
                json!({
                    "contracts": [{"name": "Vault", "lineCoverage": 94.1, "branchCoverage": 80.0}],
                    "overallCoverage": 94.1,
                }),
            ),
            build_example(
                "one contract",
                json!({"contract": "Vault"}),
                json!({
                    "contracts": [{"name": "Vault", "lineCoverage": 94.1, "branchCoverage": 80.0}],
                    "overallCoverage": 94.1,
                }),
            ),
        ],
        ..CampaignToolSpec::new(
            "show_coverage",
            ToolSchemas::from_contract_json(include_str!("../schemas/show_coverage.json")),
            show_coverage,
        )
    }
}

fn show_coverage(
    campaign: &CampaignView,
    arguments: Value,
    _: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let ShowCoverageInput { contract } = parse_arguments(arguments)?;
    let covered = campaign.coverage.current_snapshot();
    let mut shown = summarize_coverage(&covered.report);
    if let Some(wanted) = contract {
        let names: Vec<String> = shown.contracts.iter().map(|it| it.name.clone()).collect();
        shown.contracts.retain(|it| it.name == wanted);
        if shown.contracts.is_empty() {
            return Err(unknown_contract_error(&wanted, &names));
        }
    }
    to_output(&shown)
}

pub(crate) fn summarize_coverage(report: &CoverageReport) -> ShowCoverageOutput {
    let contracts = &report.contracts;
    let lines = contracts.iter().fold(CoverageRatio::default(), |sum, it| CoverageRatio {
        found: sum.found + it.lines.found,
        hit: sum.hit + it.lines.hit,
    });
    let contract = |it: &ContractReport| ContractCoverageOutput {
        name: display_name(it, contracts),
        line_coverage: coverage_percent(it.lines),
        branch_coverage: coverage_percent(it.branches),
    };
    ShowCoverageOutput {
        contracts: contracts.iter().map(contract).collect(),
        overall_coverage: coverage_percent(lines),
    }
}

/// Returns the name of a smart contract, prefixed with its path if the name is ambiguous.
pub(super) fn display_name(contract: &ContractReport, all: &[ContractReport]) -> String {
    match all.iter().filter(|other| other.name == contract.name).count() {
        1 => text::truncate_text(&contract.name),
        _ => text::truncate_text(&format!("{}:{}", contract.source, contract.name)),
    }
}

/// Returns the percentage; an empty ratio counts as fully covered.
fn coverage_percent(ratio: CoverageRatio) -> f64 {
    ratio.percent().unwrap_or(100.0)
}

pub(super) fn unknown_contract_error(wanted: &str, known: &[String]) -> ToolError {
    let wanted = guard::display_path(wanted);
    let hint = match known {
        [] => "no contract has run yet".to_owned(),
        names => format!("known contracts: {}", text::list_names(names.iter().map(String::as_str))),
    };
    ToolError::new(ErrorCode::NotFound, format!("unknown contract `{wanted}`; {hint}"))
        .with_detail("contract", wanted)
        .with_detail("known", known.iter().take(50).cloned().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract_report(name: &str, source: &str, lines: (usize, usize)) -> ContractReport {
        let ratio = |(hit, found)| CoverageRatio { found, hit };
        let (name, source) = (name.to_owned(), source.to_owned());
        ContractReport { name, source, lines: ratio(lines), branches: ratio((0, 0)) }
    }

    fn summarize_contracts(contracts: Vec<ContractReport>) -> Value {
        json!(summarize_coverage(&CoverageReport { files: Vec::new(), contracts }))
    }

    #[test]
    fn overall_coverage_is_weighted_by_lines() {
        let both = summarize_contracts(vec![
            contract_report("A", "a.sol", (45, 90)),
            contract_report("B", "b.sol", (10, 10)),
        ]);
        assert_eq!(both["contracts"][0]["lineCoverage"], 50.0);
        assert_eq!(both["contracts"][1]["lineCoverage"], 100.0);
        assert_eq!(both["overallCoverage"], 55.0);
    }

    #[test]
    fn percentages_are_rounded_but_never_up_to_100() {
        let all = summarize_contracts(vec![
            contract_report("A", "a.sol", (1, 3)),
            contract_report("B", "a.sol", (99_999, 100_000)),
        ]);
        assert_eq!(all["contracts"][0]["lineCoverage"], 33.3);
        assert_eq!(all["contracts"][1]["lineCoverage"], 99.9);
        assert_eq!(all["contracts"][0]["branchCoverage"], 100.0, "no branches count as covered");
    }

    #[test]
    fn contracts_with_equal_names_are_prefixed_with_their_path() {
        let all = summarize_contracts(vec![
            contract_report("A", "a.sol", (1, 1)),
            contract_report("A", "b.sol", (1, 1)),
        ]);
        assert_eq!(all["contracts"][0]["name"], "a.sol:A");
        assert_eq!(all["contracts"][1]["name"], "b.sol:A");
    }
}
