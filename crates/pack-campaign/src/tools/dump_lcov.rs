//! `dump_lcov`: coverage in the format that editors and services read.

use std::borrow::Cow;

use contract::{CallContext, Code, Content, Output, SideEffects, ToolError, parse};
use coverage::Report;
use globset::{Glob, GlobSetBuilder};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Spec, example, reads};
use crate::output;
use crate::running::Running;
use crate::schema::Schemas;

/// Both forms of the text count; a large project has some megabytes of it.
const MAX_OUTPUT_BYTES: usize = 64 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    output_path: Option<String>,
}

pub(super) fn spec() -> Spec {
    let mut constraints = reads();
    constraints.max_output_bytes = MAX_OUTPUT_BYTES;
    constraints.side_effects = SideEffects::Write;
    constraints.access =
        "the campaign of this server, which it does not disturb; the file named by `outputPath`"
            .into();
    constraints.rules = vec![
        "Without `outputPath` nothing is written.".into(),
        "`outputPath` is relative to the campaign's corpus folder (--corpus-dir) and cannot leave it.".into(),
        "The file is replaced whole or not at all; names of the campaign's own files are refused.".into(),
        "Files that `coverageExcludes` names are left out.".into(),
    ];
    Spec {
        title: "Dump coverage as LCOV",
        description: "All coverage as an LCOV tracefile with lines, branches and functions. The text of the answer is \
                      the tracefile itself; the structured answer holds it as `lcov`. With `outputPath` it is \
                      written to a file of the campaign's corpus folder as well.",
        constraints,
        errors: &[Code::AccessDenied, Code::TooLarge],
        examples: vec![example(
            "the text alone",
            json!({}),
            json!({"lcov": "TN:\nSF:Vault.sol\nDA:18,120\nLF:1\nLH:1\nend_of_record\n"}),
        )],
        check: |running, arguments| {
            let Input { output_path } = parse(arguments.clone())?;
            output_path.map_or(Ok(()), |path| output::check(running.output.as_deref(), &path))
        },
        ..Spec::new("dump_lcov", Schemas::agreed(include_str!("../schemas/dump_lcov.json")), run)
    }
}

fn run(running: &Running, arguments: Value, _: &CallContext) -> Result<Output, ToolError> {
    let Input { output_path } = parse(arguments)?;
    let covered = running.cover.now();
    let text = coverage::lcov(&wanted(&covered.report, &running.shared.settings.coverage_excludes));
    if let Some(path) = output_path {
        output::check(running.output.as_deref(), &path)?;
        if let Some(folder) = &running.output {
            output::write(folder, &path, &text)?;
        }
    }
    let structured = Some(json!({"lcov": text}));
    Ok(Output { structured, content: vec![Content::Text(text)], ..Output::default() })
}

/// Without the files that somebody does not want to see. Patterns that are none were refused when the campaign began.
fn wanted<'a>(report: &'a Report, excludes: &[String]) -> Cow<'a, Report> {
    if excludes.is_empty() {
        return Cow::Borrowed(report);
    }
    let mut set = GlobSetBuilder::new();
    for glob in excludes.iter().filter_map(|pattern| Glob::new(pattern).ok()) {
        set.add(glob);
    }
    let mut report = report.clone();
    if let Ok(set) = set.build() {
        report.files.retain(|file| !set.is_match(&file.path));
    }
    Cow::Owned(report)
}
