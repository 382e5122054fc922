//! Reports of handcrafted hits.

use coverage::{CodeHits, CodeSection, CoverageReport};

use crate::fixture::{Fixture, Mode};

/// Returns the hit count of a line in the first file.
fn line(report: &CoverageReport, line: u32) -> Option<u64> {
    report.files.first().and_then(|file| file.lines.get(&line).copied())
}

#[test]
fn reports_all_executable_lines_as_missed_without_hits() {
    let mut fixture = Fixture::load("Shop", Mode::Unoptimized);
    let before = fixture.report();
    for hits in &mut fixture.hits {
        *hits =
            CodeHits { blocks: Vec::new(), edges: Vec::new(), halts: Vec::new(), ..hits.clone() };
    }
    let (lines, branches) = fixture.report().totals();
    assert_eq!((lines.found, lines.hit), (before.totals().0.found, 0));
    assert_eq!((branches.found, branches.hit), (before.totals().1.found, 0));
}

#[test]
fn sums_several_hits_of_one_bytecode() {
    let mut fixture = Fixture::load("Shop", Mode::Unoptimized);
    let once = fixture.report();
    fixture.hits.extend(fixture.hits.clone());
    let twice = fixture.report();
    for (number, count) in &once.files[0].lines {
        assert_eq!(line(&twice, *number), Some(count * 2), "line {number}");
    }
    assert_eq!(once.totals(), twice.totals());
}

#[test]
fn does_not_count_instructions_after_a_halt() {
    let mut fixture = Fixture::load("Shop", Mode::Unoptimized);
    let report = fixture.report();
    assert_eq!(
        (line(&report, 68), line(&report, 69), line(&report, 70)),
        (Some(2), Some(2), Some(2))
    );
    // Offset 863 is the `SSTORE` of line 69, which shares its block with line 68 and the condition of line 70.
    let runtime =
        fixture.hits.iter_mut().find(|hits| hits.part == CodeSection::Runtime).expect("runtime");
    assert_eq!(runtime.code.get(863), Some(&0x55));
    runtime.halts.push((863, 1));
    let report = fixture.report();
    assert_eq!(
        (line(&report, 68), line(&report, 69), line(&report, 70)),
        (Some(2), Some(2), Some(1))
    );
}

#[test]
fn marks_outcome_as_seen_from_edge_alone() {
    let mut fixture = Fixture::load("Shop", Mode::Unoptimized);
    let runtime =
        fixture.hits.iter_mut().find(|hits| hits.part == CodeSection::Runtime).expect("runtime");
    runtime.blocks.clear();
    let branches = fixture.report().totals().1;
    assert!(branches.hit > 20, "{branches:?}");
}

#[test]
fn ignores_hits_of_unknown_contracts() {
    let mut fixture = Fixture::load("Shop", Mode::Unoptimized);
    for hits in &mut fixture.hits {
        hits.contract = usize::MAX;
    }
    assert_eq!(fixture.report(), CoverageReport::default());
}

#[test]
fn counts_lines_by_single_line_spans_without_ast() {
    let mut fixture = Fixture::load("Shop", Mode::Unoptimized);
    let with_ast = fixture.report();
    fixture.build.sources[0].ast = None;
    let report = fixture.report();
    assert_eq!(report.totals().1.found, 0, "branches need an AST");
    // Lines with a single statement outside of loops.
    for number in [37, 49, 52, 54, 56, 58, 59, 64, 68, 69, 77, 83, 87] {
        assert_eq!(line(&report, number), line(&with_ast, number), "line {number}");
    }
}

#[test]
fn reports_ratios_per_contract() {
    let report = Fixture::load("Merge", Mode::Unoptimized).report();
    insta::assert_json_snapshot!(report.contracts);
    let percent = report.contracts.iter().map(|contract| contract.lines.percent());
    assert_eq!(percent.collect::<Vec<_>>(), [Some(83.7)]);
}
