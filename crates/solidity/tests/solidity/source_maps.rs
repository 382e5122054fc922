//! Source maps: any text has a meaning, and what is compressed comes back.

use proptest::prelude::*;
use solidity::{Jump, SourceMap, Span, offsets};

fn span() -> impl Strategy<Value = Span> {
    let jump = prop_oneof![Just(Jump::In), Just(Jump::Out), Just(Jump::Regular)];
    // Few values, so that fields often repeat those before.
    (0..4_u32, 0..4_u32, prop::option::of(0..3_u32), jump)
        .prop_map(|(start, length, source, jump)| Span { start, length, source, jump })
}

/// The compressed form, as solc's documentation describes it.
fn compressed(spans: &[Span]) -> String {
    let mut last = [const { String::new() }; 4];
    let mut entries = Vec::new();
    for span in spans {
        let source = span.source.map_or("-1".to_owned(), |id| id.to_string());
        let jump = match span.jump {
            Jump::In => "i",
            Jump::Out => "o",
            Jump::Regular => "-",
        };
        let fields = [span.start.to_string(), span.length.to_string(), source, jump.to_owned()];
        let shown = fields
            .iter()
            .zip(&last)
            .map(|(now, last)| if now == last { String::new() } else { now.clone() });
        let entry = shown.collect::<Vec<_>>().join(":");
        entries.push(entry.trim_end_matches(':').to_owned());
        last = fields;
    }
    entries.join(";")
}

#[test]
fn fields_that_are_left_out_repeat() {
    let spans = SourceMap::parse("1:2:0:-:0;;3:::i;:9:-1:o").spans;
    insta::assert_debug_snapshot!(spans, @"
    [
        Span {
            start: 1,
            length: 2,
            source: Some(
                0,
            ),
            jump: Regular,
        },
        Span {
            start: 1,
            length: 2,
            source: Some(
                0,
            ),
            jump: Regular,
        },
        Span {
            start: 3,
            length: 2,
            source: Some(
                0,
            ),
            jump: In,
        },
        Span {
            start: 3,
            length: 9,
            source: None,
            jump: Out,
        },
    ]
    ");
}

#[test]
fn operands_are_no_instructions() {
    let code = [0x60, 0x60, 0x5f, 0x61, 1, 2, 0x00];
    assert_eq!(offsets(&code).collect::<Vec<_>>(), [0, 2, 3, 6]);
    let map = SourceMap::parse("1:1:0;2;3;4");
    let starts: Vec<_> = map.by_offset(&code).map(|(at, span)| (at, span.start)).collect();
    assert_eq!(starts, [(0, 1), (2, 2), (3, 3), (6, 4)]);
}

proptest! {
    #[test]
    fn any_text_is_a_map(text in ".{0,200}") {
        SourceMap::parse(&text);
    }

    #[test]
    fn any_numbers_are_a_map(text in "[-0-9:;io]{0,200}") {
        let entries = if text.is_empty() { 0 } else { text.matches(';').count() + 1 };
        prop_assert_eq!(SourceMap::parse(&text).spans.len(), entries);
    }

    #[test]
    fn compressing_and_parsing_gives_the_same(spans in prop::collection::vec(span(), 1..60)) {
        prop_assert_eq!(SourceMap::parse(&compressed(&spans)).spans, spans);
    }

    #[test]
    fn offsets_step_over_operands(code in prop::collection::vec(any::<u8>(), 0..200)) {
        let all: Vec<_> = offsets(&code).collect();
        prop_assert!(all.iter().all(|at| *at < code.len()));
        for pair in all.windows(2) {
            let opcode = usize::from(code[pair[0]]);
            let operand = if (0x60..0x80).contains(&opcode) { opcode - 0x5f } else { 0 };
            prop_assert_eq!(pair[1] - pair[0], 1 + operand);
        }
    }
}
