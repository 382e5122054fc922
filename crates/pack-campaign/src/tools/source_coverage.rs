//! `show_source_coverage`: returns source lines with their coverage.

use contract::{CallContext, ErrorCode, ToolError, ToolOutput, parse_arguments, to_output};
use coverage::{CoverageReport, FileReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::show_coverage::{display_name, unknown_contract_error};
use super::{CampaignToolSpec, build_example, invalid_argument, read_constraints};
use crate::schema::ToolSchemas;
use crate::text;
use crate::view::CampaignView;

/// Maximum lines of one response.
const MAX_LINES: u32 = 400;
/// Maximum bytes of a line; longer lines are generated code.
const MAX_LINE_BYTES: usize = 400;

#[derive(Deserialize, JsonSchema)]
struct ShowSourceCoverageInput {
    /// Name of a smart contract; without `from` the response starts at its first line. Pass this or `file`
    contract: Option<String>,
    /// Path of a source file, as listed by campaign_target and LCOV. Pass this or `contract`
    file: Option<String>,
    /// First line, counted from 1; defaults to the first line of the contract or file
    #[schemars(range(min = 1, max = 1_000_000_000))]
    from: Option<u32>,
    /// Last line; at most 400 lines are returned
    #[schemars(range(min = 1, max = 1_000_000_000))]
    to: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ShowSourceCoverageOutput {
    file: String,
    /// Smart contracts of this file that ran or are deployed
    contracts: Vec<String>,
    /// First returned line
    from: u32,
    /// Last returned line
    to: u32,
    /// Number of lines in the file
    total_lines: u32,
    /// Returned lines, in order
    lines: Vec<SourceLineOutput>,
}

#[derive(Serialize, JsonSchema)]
struct SourceLineOutput {
    line: u32,
    mark: LineMark,
    /// Number of times the line was executed; missing if it is not executable or unknown
    #[serde(skip_serializing_if = "Option::is_none")]
    hits: Option<u64>,
    text: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum LineMark {
    /// Executed
    Hit,
    /// Executed, but a condition on the line always went the same way
    Partial,
    /// Never executed
    Missed,
    /// Not executable, or unknown
    None,
}

pub(super) fn build_spec() -> CampaignToolSpec {
    let mut constraints = read_constraints();
    constraints.rules = vec![
        "Exactly one of `contract` and `file` is required.".into(),
        "At most 400 lines are returned; call again with `from` for more.".into(),
        "While the campaign runs, counts may be up to ten seconds old.".into(),
    ];
    CampaignToolSpec {
        title: "Show source with coverage",
        description: "Returns the source of a smart contract or file, each line with its execution count and a mark: \
                      hit, partial (a condition on it always went the same way), missed, or none. Look for missed and \
                      partial lines: an injected sequence has to satisfy the condition in front of them.",
        constraints,
        errors: &[ErrorCode::NotFound],
        examples: vec![build_example(
            "the beginning of a contract",
            json!({"contract": "Vault", "to": 20}),
            json!({
                "file": "Vault.sol", "contracts": ["Vault"], "from": 18, "to": 18, "totalLines": 60,
                "lines": [{
                    "line": 18, "mark": "partial", "hits": 120,
                    "text": "        require(amount > 0 && amount <= 1e24, \"amount\");",
                }],
            }),
        )],
        check: |_, arguments| {
            let input: ShowSourceCoverageInput = parse_arguments(arguments.clone())?;
            input.check_arguments()
        },
        ..CampaignToolSpec::new(
            "show_source_coverage",
            ToolSchemas::from_types::<ShowSourceCoverageInput, ShowSourceCoverageOutput>(),
            show_source_coverage,
        )
    }
}

impl ShowSourceCoverageInput {
    fn check_arguments(&self) -> Result<(), ToolError> {
        if self.contract.is_some() == self.file.is_some() {
            return Err(invalid_argument(
                "contract",
                "exactly one of `contract` and `file` is required",
            ));
        }
        match (self.from, self.to) {
            (Some(from), Some(to)) if from > to => {
                Err(invalid_argument("to", format!("`to` ({to}) is before `from` ({from})")))
            }
            _ => Ok(()),
        }
    }
}

fn show_source_coverage(
    campaign: &CampaignView,
    arguments: Value,
    _: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let input: ShowSourceCoverageInput = parse_arguments(arguments)?;
    input.check_arguments()?;
    let covered = campaign.coverage.current_snapshot();
    let report = &covered.report;
    let (path, begins) = find_source(&input, report)?;
    let sources = &campaign.target().build.sources;
    let source = sources.iter().find(|source| source.path == path).map_or("", |it| &it.text);
    let file = report.files.iter().find(|file| file.path == path);
    let total = u32::try_from(source.lines().count()).unwrap_or(u32::MAX);
    let begins = begins.map_or(1, |name| first_line(source, name));
    let from = input.from.unwrap_or(begins);
    if from > total {
        let message =
            format!("`from` is {from}, but `{}` has {total} lines", guard::display_path(&path));
        return Err(invalid_argument("from", message).with_detail("totalLines", total));
    }
    let to = input.to.unwrap_or(u32::MAX).min(total).min(from.saturating_add(MAX_LINES - 1));
    let numbered = (1..).zip(source.lines()).skip(from as usize - 1);
    let lines = numbered.take_while(|(number, _)| *number <= to);
    let here = report.contracts.iter().filter(|contract| contract.source == path);
    to_output(&ShowSourceCoverageOutput {
        contracts: here.map(|contract| display_name(contract, &report.contracts)).collect(),
        file: text::truncate_text(&path),
        from,
        to,
        total_lines: total,
        lines: lines.map(|(number, text)| build_line(number, text, file)).collect(),
    })
}

/// Returns the path of the file and, if it was selected by smart contract, the name of that contract.
fn find_source<'a>(
    input: &'a ShowSourceCoverageInput,
    report: &CoverageReport,
) -> Result<(String, Option<&'a str>), ToolError> {
    if let Some(wanted) = &input.contract {
        let all = &report.contracts;
        let found = all.iter().find(|contract| display_name(contract, all) == *wanted);
        let names = || all.iter().map(|it| display_name(it, all)).collect::<Vec<_>>();
        let found = found.ok_or_else(|| unknown_contract_error(wanted, &names()))?;
        let own = wanted.rsplit(':').next().unwrap_or(wanted);
        return Ok((found.source.clone(), Some(own)));
    }
    let wanted = input.file.as_deref().unwrap_or_default();
    let paths: Vec<&str> = report.files.iter().map(|file| file.path.as_str()).collect();
    if paths.contains(&wanted) {
        return Ok((wanted.to_owned(), None));
    }
    let shown = guard::display_path(wanted);
    let message =
        format!("unknown source file `{shown}`; known files: {}", text::list_names(paths));
    Err(ToolError::new(ErrorCode::NotFound, message).with_detail("file", shown))
}

/// Returns the line that declares a smart contract, found by its text, or 1.
fn first_line(source: &str, name: &str) -> u32 {
    let declares = |line: &str| {
        let mut words = line.split(|letter: char| letter.is_whitespace() || letter == '{');
        let kind = words.find(|word| !word.is_empty() && *word != "abstract");
        matches!(kind, Some("contract" | "library" | "interface"))
            && words.find(|word| !word.is_empty()) == Some(name)
    };
    (1..).zip(source.lines()).find(|(_, line)| declares(line)).map_or(1, |(number, _)| number)
}

fn build_line(number: u32, source: &str, file: Option<&FileReport>) -> SourceLineOutput {
    let hits = file.and_then(|file| file.lines.get(&number)).copied();
    let is_half = file.is_some_and(|file| file.branches_on(number).any(|it| it.is_half_taken()));
    let mark = match hits {
        None => LineMark::None,
        Some(0) => LineMark::Missed,
        Some(_) if is_half => LineMark::Partial,
        Some(_) => LineMark::Hit,
    };
    let cut = &source[..source.floor_char_boundary(MAX_LINE_BYTES)];
    SourceLineOutput { line: number, mark, hits, text: contract::text::escape_hidden(cut) }
}
