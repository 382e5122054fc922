//! `show_coverage`: how much of each contract ran.

use contract::{CallContext, Code, Output, ToolError, parse, to_output};
use coverage::{ContractReport, Ratio, Report};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Spec, example, reads};
use crate::running::Running;
use crate::schema::Schemas;
use crate::text;

#[derive(Deserialize)]
struct Input {
    contract: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shown {
    contracts: Vec<Contract>,
    overall_coverage: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Contract {
    name: String,
    line_coverage: f64,
    branch_coverage: f64,
}

pub(super) fn spec() -> Spec {
    let mut constraints = reads();
    constraints.rules = vec![
        "Percentages have one decimal, and are 100 only if nothing is missing; of nothing, all is covered.".into(),
        "`overallCoverage` is that of the lines of all contracts, whatever the filter is.".into(),
        "While the campaign runs, the numbers may be some moments old, ten seconds at most; after its end they are exact.".into(),
    ];
    Spec {
        title: "Show coverage",
        description: "Line and branch coverage of each contract in percent, and of all lines together. Contracts are \
                      those on the chain and those whose code ran. A contract that shares its name with another is \
                      called `path:Name`. Ask show_source_coverage which lines are missing.",
        constraints,
        errors: &[Code::NotFound],
        examples: vec![
            example(
                "all contracts",
                json!({}),
                json!({
                    "contracts": [{"name": "Vault", "lineCoverage": 94.1, "branchCoverage": 80.0}],
                    "overallCoverage": 94.1,
                }),
            ),
            example(
                "one contract",
                json!({"contract": "Vault"}),
                json!({
                    "contracts": [{"name": "Vault", "lineCoverage": 94.1, "branchCoverage": 80.0}],
                    "overallCoverage": 94.1,
                }),
            ),
        ],
        ..Spec::new(
            "show_coverage",
            Schemas::agreed(include_str!("../schemas/show_coverage.json")),
            run,
        )
    }
}

fn run(running: &Running, arguments: Value, _: &CallContext) -> Result<Output, ToolError> {
    let Input { contract } = parse(arguments)?;
    let covered = running.cover.now();
    let mut shown = shown(&covered.report);
    if let Some(wanted) = contract {
        let names: Vec<String> = shown.contracts.iter().map(|it| it.name.clone()).collect();
        shown.contracts.retain(|it| it.name == wanted);
        if shown.contracts.is_empty() {
            return Err(unknown(&wanted, &names));
        }
    }
    to_output(&shown)
}

pub(crate) fn shown(report: &Report) -> Shown {
    let contracts = &report.contracts;
    let lines = contracts.iter().fold(Ratio::default(), |sum, it| Ratio {
        found: sum.found + it.lines.found,
        hit: sum.hit + it.lines.hit,
    });
    let contract = |it: &ContractReport| Contract {
        name: name(it, contracts),
        line_coverage: percent(it.lines),
        branch_coverage: percent(it.branches),
    };
    Shown { contracts: contracts.iter().map(contract).collect(), overall_coverage: percent(lines) }
}

/// With its path where the name alone would not do.
pub(super) fn name(contract: &ContractReport, all: &[ContractReport]) -> String {
    match all.iter().filter(|other| other.name == contract.name).count() {
        1 => text::bounded(&contract.name),
        _ => text::bounded(&format!("{}:{}", contract.source, contract.name)),
    }
}

/// Of nothing, all is covered.
fn percent(ratio: Ratio) -> f64 {
    ratio.percent().unwrap_or(100.0)
}

pub(super) fn unknown(wanted: &str, known: &[String]) -> ToolError {
    let wanted = guard::shown(wanted);
    let told = match known {
        [] => "nothing has run yet".to_owned(),
        names => format!("the known ones are {}", text::names(names.iter().map(String::as_str))),
    };
    ToolError::new(Code::NotFound, format!("there is no contract `{wanted}`; {told}"))
        .with("contract", wanted)
        .with("known", known.iter().take(50).cloned().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract(name: &str, source: &str, lines: (usize, usize)) -> ContractReport {
        let ratio = |(hit, found)| Ratio { found, hit };
        let (name, source) = (name.to_owned(), source.to_owned());
        ContractReport { name, source, lines: ratio(lines), branches: ratio((0, 0)) }
    }

    fn of(contracts: Vec<ContractReport>) -> Value {
        json!(shown(&Report { files: Vec::new(), contracts }))
    }

    #[test]
    fn show_coverage_overall_is_weighted_by_lines() {
        let both = of(vec![contract("A", "a.sol", (45, 90)), contract("B", "b.sol", (10, 10))]);
        assert_eq!(both["contracts"][0]["lineCoverage"], 50.0);
        assert_eq!(both["contracts"][1]["lineCoverage"], 100.0);
        assert_eq!(both["overallCoverage"], 55.0);
    }

    #[test]
    fn percentages_are_rounded_but_never_up_to_100() {
        let all =
            of(vec![contract("A", "a.sol", (1, 3)), contract("B", "a.sol", (99_999, 100_000))]);
        assert_eq!(all["contracts"][0]["lineCoverage"], 33.3);
        assert_eq!(all["contracts"][1]["lineCoverage"], 99.9);
        assert_eq!(all["contracts"][0]["branchCoverage"], 100.0, "of nothing, all is covered");
    }

    #[test]
    fn contracts_of_one_name_are_told_apart() {
        let all = of(vec![contract("A", "a.sol", (1, 1)), contract("A", "b.sol", (1, 1))]);
        assert_eq!(all["contracts"][0]["name"], "a.sol:A");
        assert_eq!(all["contracts"][1]["name"], "b.sol:A");
    }
}
