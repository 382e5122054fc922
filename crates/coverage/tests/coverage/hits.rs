//! How hits that are made by hand end up in the counts.

use coverage::{CodeHits, Part, Report};

use crate::fixture::{Fixture, Mode};

fn line(report: &Report, line: u32) -> Option<u64> {
    report.files.first().and_then(|file| file.lines.get(&line).copied())
}

#[test]
fn without_hits_all_lines_that_can_run_are_missed() {
    let mut fixture = Fixture::load("Shop", Mode::Unoptimised);
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
fn hits_of_one_code_that_come_in_parts_are_added_up() {
    let mut fixture = Fixture::load("Shop", Mode::Unoptimised);
    let once = fixture.report();
    fixture.hits.extend(fixture.hits.clone());
    let twice = fixture.report();
    for (number, count) in &once.files[0].lines {
        assert_eq!(line(&twice, *number), Some(count * 2), "line {number}");
    }
    assert_eq!(once.totals(), twice.totals());
}

#[test]
fn what_comes_after_a_halt_within_a_block_did_not_run() {
    let mut fixture = Fixture::load("Shop", Mode::Unoptimised);
    let report = fixture.report();
    assert_eq!(
        (line(&report, 68), line(&report, 69), line(&report, 70)),
        (Some(2), Some(2), Some(2))
    );
    // The `SSTORE` of line 69, which shares its block with line 68 and the condition of line 70.
    let runtime = fixture.hits.iter_mut().find(|hits| hits.part == Part::Runtime).expect("runtime");
    assert_eq!(runtime.code.get(863), Some(&0x55));
    runtime.halts.push((863, 1));
    let report = fixture.report();
    assert_eq!(
        (line(&report, 68), line(&report, 69), line(&report, 70)),
        (Some(2), Some(2), Some(1))
    );
}

#[test]
fn an_outcome_that_only_an_edge_shows_is_seen() {
    let mut fixture = Fixture::load("Shop", Mode::Unoptimised);
    let runtime = fixture.hits.iter_mut().find(|hits| hits.part == Part::Runtime).expect("runtime");
    runtime.blocks.clear();
    let branches = fixture.report().totals().1;
    assert!(branches.hit > 20, "{branches:?}");
}

#[test]
fn hits_of_an_unknown_contract_are_passed_over() {
    let mut fixture = Fixture::load("Shop", Mode::Unoptimised);
    for hits in &mut fixture.hits {
        hits.contract = usize::MAX;
    }
    assert_eq!(fixture.report(), Report::default());
}

#[test]
fn without_a_syntax_tree_lines_are_told_by_spans_within_one_line() {
    let mut fixture = Fixture::load("Shop", Mode::Unoptimised);
    let with_tree = fixture.report();
    fixture.build.sources[0].ast = None;
    let report = fixture.report();
    assert_eq!(report.totals().1.found, 0, "branches need a tree");
    // Statements that no other statement on their line and no loop makes ambiguous.
    for number in [37, 49, 52, 54, 56, 58, 59, 64, 68, 69, 77, 83, 87] {
        assert_eq!(line(&report, number), line(&with_tree, number), "line {number}");
    }
}

#[test]
fn contracts_have_ratios_of_their_own() {
    let report = Fixture::load("Merge", Mode::Unoptimised).report();
    insta::assert_json_snapshot!(report.contracts);
    let percent = report.contracts.iter().map(|contract| contract.lines.percent());
    assert_eq!(percent.collect::<Vec<_>>(), [Some(83.7)]);
}
