//! Whatever is handed in, a report comes out and adds up.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use coverage::{CodeHits, Edge, Part, Report, annotate, html, lcov};
use proptest::collection::vec;
use proptest::prelude::*;
use solidity::SourceMap;

use crate::fixture::{Fixture, Mode};

static SHOPS: LazyLock<[Fixture; 3]> = LazyLock::new(|| {
    [Mode::Unoptimised, Mode::Optimised, Mode::ViaIr].map(|mode| Fixture::load("Shop", mode))
});

/// Blocks, edges and halts.
type Counted = (Vec<(usize, u64)>, Vec<Edge>, Vec<(usize, u64)>);

fn any_hits() -> impl Strategy<Value = Counted> {
    let offset = || 0usize..2600;
    let edge = (offset(), any::<bool>(), any::<bool>()).prop_map(|(offset, taken, seen)| Edge {
        offset,
        taken,
        seen,
    });
    let count = || prop_oneof![0u64..50, Just(u64::MAX)];
    (vec((offset(), count()), 0..200), vec(edge, 0..50), vec((offset(), count()), 0..20))
}

/// The sums of a tracefile, read back from its records.
fn adds_up(report: &Report) {
    let text = lcov(report);
    for record in text.split_terminator("end_of_record\n") {
        let mut found: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        let mut said: BTreeMap<&str, usize> = BTreeMap::new();
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
                    said.insert(key, value.parse().expect("a number"));
                }
                _ => {}
            }
        }
        let of = |key| found.get(key).copied().unwrap_or_default();
        assert_eq!((said["LF"], said["LH"]), of("DA"));
        assert_eq!((said["BRF"], said["BRH"]), of("BRDA"));
        assert!(said["FNF"] >= said["FNH"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_hits_of_a_real_build((blocks, edges, halts) in any_hits(), which in 0usize..3) {
        let fixture = &SHOPS[which];
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
        let report = Report::new(&fixture.build, &hits);
        adds_up(&report);
        let (lines, branches) = report.totals();
        let (known_lines, known_branches) = fixture.report().totals();
        prop_assert_eq!(lines.found, known_lines.found, "what can run does not depend on what ran");
        prop_assert_eq!(branches.found, known_branches.found);
    }

    #[test]
    fn any_code_with_any_source_map(
        code in vec(prop_oneof![Just(0x56u8), Just(0x57), Just(0x5b), Just(0x60), any::<u8>()], 0..300),
        map in "[0-9:;io-]{0,400}",
        (blocks, edges, halts) in any_hits(),
        has_tree in any::<bool>(),
    ) {
        let shop = &SHOPS[0];
        let mut build = shop.build.clone();
        build.contracts[0].runtime.source_map = SourceMap::parse(&map);
        if !has_tree {
            build.sources[0].ast = None;
        }
        let hits = CodeHits { contract: 0, part: Part::Runtime, code, blocks, edges, halts };
        let report = Report::new(&build, &[hits]);
        adds_up(&report);
        annotate(&report, &build);
        html(&report, &build);
    }

    #[test]
    fn any_shuffled_source_map_of_a_real_code(shift in 1usize..2000, cut in 0usize..2000) {
        let shop = &SHOPS[0];
        let mut build = shop.build.clone();
        for contract in &mut build.contracts {
            let spans = &mut contract.runtime.source_map.spans;
            let shift = shift % spans.len().max(1);
            spans.rotate_left(shift);
            spans.truncate(cut.max(1));
        }
        adds_up(&Report::new(&build, &shop.hits));
    }

    #[test]
    fn a_source_that_is_not_what_was_compiled(text in "\\PC{0,200}") {
        let shop = &SHOPS[0];
        let mut build = shop.build.clone();
        build.sources[0].text = text.into();
        let report = Report::new(&build, &shop.hits);
        adds_up(&report);
        annotate(&report, &build);
        html(&report, &build);
    }
}
