//! Property tests: every input produces a consistent report.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use coverage::{
    CodeHits, CodeSection, CoverageReport, EdgeHit, annotate_sources, render_html, render_lcov,
};
use proptest::collection::vec;
use proptest::prelude::*;
use solidity::SourceMap;

use crate::fixture::{Fixture, Mode};

static SHOPS: LazyLock<[Fixture; 3]> = LazyLock::new(|| {
    [Mode::Unoptimized, Mode::Optimized, Mode::ViaIr].map(|mode| Fixture::load("Shop", mode))
});

/// Blocks, edges and halts.
type RecordedHits = (Vec<(usize, u64)>, Vec<EdgeHit>, Vec<(usize, u64)>);

fn any_hits() -> impl Strategy<Value = RecordedHits> {
    let offset = || 0usize..2600;
    let edge = (offset(), any::<bool>(), any::<bool>()).prop_map(|(offset, taken, seen)| EdgeHit {
        offset,
        taken,
        seen,
    });
    let count = || prop_oneof![0u64..50, Just(u64::MAX)];
    (vec((offset(), count()), 0..200), vec(edge, 0..50), vec((offset(), count()), 0..20))
}

/// Asserts that the totals in the LCOV tracefile match its records.
fn assert_totals_match(report: &CoverageReport) {
    let text = render_lcov(report);
    for record in text.split_terminator("end_of_record\n") {
        let mut found: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
        for line in record.lines() {
            let (key, value) = line.split_once(':').expect("a key");
            match key {
                "DA" | "BRDA" => {
                    let (_, last) = value.rsplit_once(',').expect("a count");
                    let sum = found.entry(key).or_default();
                    sum.0 += 1;
                    sum.1 += usize::from(last != "0" && last != "-");
                }
                "LF" | "LH" | "BRF" | "BRH" | "FNF" | "FNH" => {
                    totals.insert(key, value.parse().expect("a number"));
                }
                _ => {}
            }
        }
        let records = |key| found.get(key).copied().unwrap_or_default();
        assert_eq!((totals["LF"], totals["LH"]), records("DA"));
        assert_eq!((totals["BRF"], totals["BRH"]), records("BRDA"));
        assert!(totals["FNF"] >= totals["FNH"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn reported_lines_do_not_depend_on_hits((blocks, edges, halts) in any_hits(), index in 0usize..3) {
        let fixture = &SHOPS[index];
        let hits: Vec<CodeHits> = fixture
            .hits
            .iter()
            .map(|hits| CodeHits {
                blocks: blocks.clone(),
                edges: edges.clone(),
                halts: halts.clone(),
                ..hits.clone()
            })
            .collect();
        let report = CoverageReport::new(&fixture.build, &hits);
        assert_totals_match(&report);
        let (lines, branches) = report.totals();
        let (known_lines, known_branches) = fixture.report().totals();
        prop_assert_eq!(lines.found, known_lines.found, "executable lines must not depend on hits");
        prop_assert_eq!(branches.found, known_branches.found);
    }

    #[test]
    fn accepts_any_bytecode_with_any_source_map(
        code in vec(prop_oneof![Just(0x56u8), Just(0x57), Just(0x5b), Just(0x60), any::<u8>()], 0..300),
        map in "[0-9:;io-]{0,400}",
        (blocks, edges, halts) in any_hits(),
        has_ast in any::<bool>(),
    ) {
        let shop = &SHOPS[0];
        let mut build = shop.build.clone();
        build.contracts[0].runtime.source_map = SourceMap::parse(&map);
        if !has_ast {
            build.sources[0].ast = None;
        }
        let hits = CodeHits { contract: 0, part: CodeSection::Runtime, code, blocks, edges, halts };
        let report = CoverageReport::new(&build, &[hits]);
        assert_totals_match(&report);
        annotate_sources(&report, &build);
        render_html(&report, &build);
    }

    #[test]
    fn accepts_shuffled_source_maps(shift in 1usize..2000, cut in 0usize..2000) {
        let shop = &SHOPS[0];
        let mut build = shop.build.clone();
        for contract in &mut build.contracts {
            let spans = &mut contract.runtime.source_map.spans;
            let shift = shift % spans.len().max(1);
            spans.rotate_left(shift);
            spans.truncate(cut.max(1));
        }
        assert_totals_match(&CoverageReport::new(&build, &shop.hits));
    }

    #[test]
    fn accepts_source_text_that_was_not_compiled(text in "\\PC{0,200}") {
        let shop = &SHOPS[0];
        let mut build = shop.build.clone();
        build.sources[0].text = text.into();
        let report = CoverageReport::new(&build, &shop.hits);
        assert_totals_match(&report);
        annotate_sources(&report, &build);
        render_html(&report, &build);
    }
}
