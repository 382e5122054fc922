//! `show_source_coverage`: the source with what ran of it, line by line.

use contract::{CallContext, Code, Output, ToolError, parse, to_output};
use coverage::{FileReport, Report};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::show_coverage::{name, unknown};
use super::{Spec, example, invalid, reads};
use crate::running::Running;
use crate::schema::Schemas;
use crate::text;

/// Lines of one answer.
const MAX_LINES: u32 = 400;
/// Letters of a line; more is generated code that nobody reads.
const MAX_LETTERS: usize = 400;

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Name of a contract; without `from` the answer begins where it does. Give this or `file`
    contract: Option<String>,
    /// Path of a source file, as campaign_target and LCOV have it. Give this or `contract`
    file: Option<String>,
    /// First line, counted from 1; without it the contract's or the file's first
    #[schemars(range(min = 1, max = 1_000_000_000))]
    from: Option<u32>,
    /// Last line; without it, or if it is further, 400 lines are told
    #[schemars(range(min = 1, max = 1_000_000_000))]
    to: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Source {
    file: String,
    /// Contracts of this file that ran or are on the chain
    contracts: Vec<String>,
    /// The first line of the answer
    from: u32,
    /// Its last line
    to: u32,
    /// Lines of the file
    total_lines: u32,
    /// The lines in order
    lines: Vec<Line>,
}

#[derive(Serialize, JsonSchema)]
struct Line {
    line: u32,
    mark: Mark,
    /// How often control came to the line; missing where nothing can run or be told
    #[serde(skip_serializing_if = "Option::is_none")]
    hits: Option<u64>,
    text: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mark {
    /// It ran
    Hit,
    /// It ran, but a decision on it always went the same way
    Partial,
    /// It never ran
    Missed,
    /// Nothing on it can run, or nothing can be told of it
    None,
}

pub(super) fn spec() -> Spec {
    let mut constraints = reads();
    constraints.rules = vec![
        "One of `contract` and `file` is given.".into(),
        "At most 400 lines are told; ask again with `from` for more.".into(),
        "While the campaign runs, counts may be some moments old, ten seconds at most.".into(),
    ];
    Spec {
        title: "Show source with coverage",
        description: "The source of a contract or file, each line with how often it ran and a mark: hit, partial (a \
                      condition on it only ever went one way), missed, or none. Look for missed and partial lines: the \
                      condition in front of them is what an injected sequence has to satisfy.",
        constraints,
        errors: &[Code::NotFound],
        examples: vec![example(
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
            let input: Input = parse(arguments.clone())?;
            input.check()
        },
        ..Spec::new("show_source_coverage", Schemas::of::<Input, Source>(), run)
    }
}

impl Input {
    fn check(&self) -> Result<(), ToolError> {
        if self.contract.is_some() == self.file.is_some() {
            return Err(invalid("contract", "give one of `contract` and `file`, and not both"));
        }
        match (self.from, self.to) {
            (Some(from), Some(to)) if from > to => {
                Err(invalid("to", format!("`to` is {to}, which is before `from`, {from}")))
            }
            _ => Ok(()),
        }
    }
}

fn run(running: &Running, arguments: Value, _: &CallContext) -> Result<Output, ToolError> {
    let input: Input = parse(arguments)?;
    input.check()?;
    let covered = running.cover.now();
    let report = &covered.report;
    let (path, begins) = find(&input, report)?;
    let sources = &running.target().build.sources;
    let source = sources.iter().find(|source| source.path == path).map_or("", |it| &it.text);
    let file = report.files.iter().find(|file| file.path == path);
    let total = u32::try_from(source.lines().count()).unwrap_or(u32::MAX);
    let begins = begins.map_or(1, |name| first_line(source, name));
    let from = input.from.unwrap_or(begins);
    if from > total {
        let message = format!("`from` is {from}, but `{}` has {total} lines", guard::shown(&path));
        return Err(invalid("from", message).with("totalLines", total));
    }
    let to = input.to.unwrap_or(u32::MAX).min(total).min(from.saturating_add(MAX_LINES - 1));
    let numbered = (1..).zip(source.lines()).skip(from as usize - 1);
    let lines = numbered.take_while(|(number, _)| *number <= to);
    let here = report.contracts.iter().filter(|contract| contract.source == path);
    to_output(&Source {
        contracts: here.map(|contract| name(contract, &report.contracts)).collect(),
        file: text::bounded(&path),
        from,
        to,
        total_lines: total,
        lines: lines.map(|(number, text)| line(number, text, file)).collect(),
    })
}

/// The path of the file, and the contract that it is shown for.
fn find<'a>(input: &'a Input, report: &Report) -> Result<(String, Option<&'a str>), ToolError> {
    if let Some(wanted) = &input.contract {
        let all = &report.contracts;
        let found = all.iter().find(|contract| name(contract, all) == *wanted);
        let names = || all.iter().map(|it| name(it, all)).collect::<Vec<_>>();
        let found = found.ok_or_else(|| unknown(wanted, &names()))?;
        let own = wanted.rsplit(':').next().unwrap_or(wanted);
        return Ok((found.source.clone(), Some(own)));
    }
    let wanted = input.file.as_deref().unwrap_or_default();
    let paths: Vec<&str> = report.files.iter().map(|file| file.path.as_str()).collect();
    if paths.contains(&wanted) {
        return Ok((wanted.to_owned(), None));
    }
    let shown = guard::shown(wanted);
    let message = format!("there is no file `{shown}`; the known ones are {}", text::names(paths));
    Err(ToolError::new(Code::NotFound, message).with("file", shown))
}

/// Where a contract begins, as far as its text says.
fn first_line(source: &str, name: &str) -> u32 {
    let declares = |line: &str| {
        let mut words = line.split(|letter: char| letter.is_whitespace() || letter == '{');
        let kind = words.find(|word| !word.is_empty() && *word != "abstract");
        matches!(kind, Some("contract" | "library" | "interface"))
            && words.find(|word| !word.is_empty()) == Some(name)
    };
    (1..).zip(source.lines()).find(|(_, line)| declares(line)).map_or(1, |(number, _)| number)
}

fn line(number: u32, source: &str, file: Option<&FileReport>) -> Line {
    let hits = file.and_then(|file| file.lines.get(&number)).copied();
    let is_half = file.is_some_and(|file| file.branches_on(number).any(|it| it.is_half_taken()));
    let mark = match hits {
        None => Mark::None,
        Some(0) => Mark::Missed,
        Some(_) if is_half => Mark::Partial,
        Some(_) => Mark::Hit,
    };
    let cut = &source[..source.floor_char_boundary(MAX_LETTERS)];
    Line { line: number, mark, hits, text: contract::text::visible(cut) }
}
