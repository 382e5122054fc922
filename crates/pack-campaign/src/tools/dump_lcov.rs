//! `dump_lcov`: exports coverage in the LCOV format, which editors and coverage services read.

use std::borrow::Cow;

use contract::{
    CallContext, ContentBlock, ErrorCode, SideEffects, ToolError, ToolOutput, parse_arguments,
};
use coverage::CoverageReport;
use globset::{Glob, GlobSetBuilder};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CampaignToolSpec, build_example, read_constraints};
use crate::output_files;
use crate::schema::ToolSchemas;
use crate::view::CampaignView;

/// Maximum output size. The text appears in the output twice, and large projects produce several megabytes of it.
const MAX_OUTPUT_BYTES: usize = 64 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DumpLcovInput {
    output_path: Option<String>,
}

pub(super) fn build_spec() -> CampaignToolSpec {
    let mut constraints = read_constraints();
    constraints.max_output_bytes = MAX_OUTPUT_BYTES;
    constraints.side_effects = SideEffects::Write;
    constraints.access =
        "read-only access to the campaign of this server; writes the file named by `outputPath`"
            .into();
    constraints.rules = vec![
        "Without `outputPath` no file is written.".into(),
        "`outputPath` is relative to the campaign's corpus folder (--corpus-dir) and cannot leave it.".into(),
        "The file is replaced atomically; names of the campaign's own files are refused.".into(),
        "Files that match `coverageExcludes` are omitted.".into(),
    ];
    CampaignToolSpec {
        title: "Dump coverage as LCOV",
        description: "Exports all coverage as an LCOV tracefile with lines, branches and functions. The text content \
                      is the tracefile itself; the structured content has it as `lcov`. With `outputPath` it is also \
                      written to a file in the campaign's corpus folder.",
        constraints,
        errors: &[ErrorCode::AccessDenied, ErrorCode::TooLarge],
        examples: vec![build_example(
            "return the tracefile without writing a file",
            json!({}),
            json!({"lcov": "TN:\nSF:Vault.sol\nDA:18,120\nLF:1\nLH:1\nend_of_record\n"}),
        )],
        check: |campaign, arguments| {
            let DumpLcovInput { output_path } = parse_arguments(arguments.clone())?;
            output_path.map_or(Ok(()), |path| {
                output_files::check_output_path(campaign.output.as_deref(), &path)
            })
        },
        ..CampaignToolSpec::new(
            "dump_lcov",
            ToolSchemas::from_contract_json(include_str!("../schemas/dump_lcov.json")),
            dump_lcov,
        )
    }
}

fn dump_lcov(
    campaign: &CampaignView,
    arguments: Value,
    _: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let DumpLcovInput { output_path } = parse_arguments(arguments)?;
    let covered = campaign.coverage.current_snapshot();
    let text = coverage::render_lcov(&without_excluded_files(
        &covered.report,
        &campaign.shared.settings.coverage_excludes,
    ));
    if let Some(path) = output_path {
        output_files::check_output_path(campaign.output.as_deref(), &path)?;
        if let Some(folder) = &campaign.output {
            output_files::write_output_file(folder, &path, &text)?;
        }
    }
    let structured = Some(json!({"lcov": text}));
    Ok(ToolOutput { structured, content: vec![ContentBlock::Text(text)], ..ToolOutput::default() })
}

/// Returns the report without excluded files. Invalid patterns were rejected when the campaign was configured.
fn without_excluded_files<'a>(
    report: &'a CoverageReport,
    excludes: &[String],
) -> Cow<'a, CoverageReport> {
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
