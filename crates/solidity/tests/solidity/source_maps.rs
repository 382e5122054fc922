//! Source maps: any text can be parsed, and compression round-trips.

use proptest::prelude::*;
use solidity::{JumpKind, SourceMap, SourceSpan, instruction_offsets};

fn span() -> impl Strategy<Value = SourceSpan> {
    let jump = prop_oneof![Just(JumpKind::In), Just(JumpKind::Out), Just(JumpKind::Regular)];
    // Few values, so that fields often repeat the previous ones.
    (0..4_u32, 0..4_u32, prop::option::of(0..3_u32), jump)
        .prop_map(|(start, length, source, jump)| SourceSpan { start, length, source, jump })
}

/// Returns the compressed form, as described in the documentation of solc.
fn compress_spans(spans: &[SourceSpan]) -> String {
    let mut last = [const { String::new() }; 4];
    let mut entries = Vec::new();
    for span in spans {
        let source = span.source.map_or("-1".to_owned(), |id| id.to_string());
        let jump = match span.jump {
            JumpKind::In => "i",
            JumpKind::Out => "o",
            JumpKind::Regular => "-",
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
fn omitted_fields_repeat_previous_entry() {
    let spans = SourceMap::parse("1:2:0:-:0;;3:::i;:9:-1:o").spans;
    let fields = spans.iter().map(|span| (span.start, span.length, span.source, span.jump));
    let expected = [
        (1, 2, Some(0), JumpKind::Regular),
        (1, 2, Some(0), JumpKind::Regular),
        (3, 2, Some(0), JumpKind::In),
        (3, 9, None, JumpKind::Out),
    ];
    assert_eq!(fields.collect::<Vec<_>>(), expected);
}

#[test]
fn skips_push_operands() {
    let code = [0x60, 0x60, 0x5f, 0x61, 1, 2, 0x00];
    assert_eq!(instruction_offsets(&code).collect::<Vec<_>>(), [0, 2, 3, 6]);
    let map = SourceMap::parse("1:1:0;2;3;4");
    let starts: Vec<_> = map.spans_by_offset(&code).map(|(at, span)| (at, span.start)).collect();
    assert_eq!(starts, [(0, 1), (2, 2), (3, 3), (6, 4)]);
}

proptest! {
    #[test]
    fn parses_any_text(text in ".{0,200}") {
        SourceMap::parse(&text);
    }

    #[test]
    fn parses_one_span_per_entry(text in "[-0-9:;io]{0,200}") {
        let entries = if text.is_empty() { 0 } else { text.matches(';').count() + 1 };
        prop_assert_eq!(SourceMap::parse(&text).spans.len(), entries);
    }

    #[test]
    fn parsing_reverses_compression(spans in prop::collection::vec(span(), 1..60)) {
        prop_assert_eq!(SourceMap::parse(&compress_spans(&spans)).spans, spans);
    }

    #[test]
    fn instruction_offsets_skip_operands(code in prop::collection::vec(any::<u8>(), 0..200)) {
        let all: Vec<_> = instruction_offsets(&code).collect();
        prop_assert!(all.iter().all(|at| *at < code.len()));
        for pair in all.windows(2) {
            let opcode = usize::from(code[pair[0]]);
            let operand = if (0x60..0x80).contains(&opcode) { opcode - 0x5f } else { 0 };
            prop_assert_eq!(pair[1] - pair[0], 1 + operand);
        }
    }
}
