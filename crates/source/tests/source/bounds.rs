//! Hostile texts: every text yields an outline with a bounded size, in bounded time.

use proptest::prelude::*;
use source::{Language, build_outline};

const LANGUAGES: [Language; 12] = [
    Language::TypeScript,
    Language::Tsx,
    Language::JavaScript,
    Language::Python,
    Language::Rust,
    Language::Go,
    Language::Java,
    Language::Solidity,
    Language::C,
    Language::Cpp,
    Language::Markdown,
    Language::Plain("text"),
];

/// Checks that the chunks cover the whole text and returns their number.
fn check_coverage(language: Language, text: &str) -> usize {
    let outline = build_outline(Some(language), text);
    let mut end = 0;
    for chunk in &outline.chunks {
        assert_eq!(chunk.bytes.start, end);
        assert!(chunk.bytes.end > end, "empty chunk");
        assert!(chunk.lines.start >= 1 && chunk.lines.end > chunk.lines.start);
        end = chunk.bytes.end;
        assert!(text.is_char_boundary(end as usize));
    }
    assert_eq!(end as usize, text.len());
    outline.chunks.len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Program fragments in random order, mixed with invalid characters.
    #[test]
    fn chunks_cover_any_text(words in prop::collection::vec(prop_oneof![
        Just("import x from './x';\n"), Just("fn f() {"), Just("}\n"), Just("class A:\n    "),
        Just("/* "), Just(" */"), Just("// é\n"), Just("\""), Just("'"), Just("`"), Just("#"), Just("# h\n"),
        Just("((((("), Just(")"), Just("\n\n"), Just("\r\n"), Just("é🎉"), Just("export default "), Just("mod a;"),
        Just("use a::{b, c::*};"), Just("#include \"x\"\n"), Just("def f(): pass\n"), Just("@x\n"), Just("\t"),
        Just("```\n"), Just("impl X for Y {"), Just("\0"), Just("\u{feff}"), Just("long_word_without_end_"),
    ], 0..60), language in prop::sample::select(LANGUAGES.to_vec())) {
        check_coverage(language, &words.concat());
    }
}

#[test]
fn bounds_chunks_of_one_long_line() {
    let line = "var a=1;function b(c){return c+1}".repeat(900 * 1024 / 33);
    for language in [Language::JavaScript, Language::Plain("json"), Language::Markdown] {
        assert!(check_coverage(language, &line) <= 64, "{language}");
    }
}

#[test]
fn bounds_chunks_of_many_small_items() {
    let alternating = "import a from 'a';\nf();\n".repeat(30_000);
    assert!(check_coverage(Language::TypeScript, &alternating) <= 1600);
    let blank = "\n".repeat(500_000);
    assert!(check_coverage(Language::Plain("text"), &blank) <= 1600);
    let headings = "# a\n".repeat(100_000);
    assert!(check_coverage(Language::Markdown, &headings) <= 1600);
}

#[test]
fn handles_deep_unclosed_nesting() {
    for (language, open) in [
        (Language::JavaScript, "(["),
        (Language::Rust, "mod a { fn f() { "),
        (Language::Python, "(("),
        (Language::Cpp, "namespace a { "),
        (Language::Java, "class A { "),
    ] {
        let text = open.repeat(20_000);
        check_coverage(language, &format!("{text}\n"));
    }
}

/// Balanced nesting yields a syntax tree of the same depth, in every language with a grammar.
#[test]
fn handles_deep_balanced_nesting() {
    for (language, open, close) in [
        (Language::TypeScript, "namespace a {", "}"),
        (Language::Tsx, "<a>", "</a>"),
        (Language::JavaScript, "class A { a() {", "} }"),
        (Language::JavaScript, "f(() => {", "});"),
        (Language::Python, "[", "]"),
        (Language::Rust, "mod a {", "}"),
        (Language::Rust, "fn f() {", "}"),
        (Language::Rust, "mod a { use b::c; m! { mod d; }", "}"),
        (Language::Rust, "m! { (", ") }"),
        (Language::Go, "var a = func() {", "}"),
        (Language::Java, "class A {", "}"),
        (Language::C, "#if A", "#endif"),
        (Language::C, "extern \"C\" {", "}"),
        (Language::C, "struct a {", "} a;"),
        (Language::Cpp, "namespace a {", "}"),
        (Language::Cpp, "class A {", "};"),
    ] {
        check_coverage(language, &nest(open, close));
    }
    check_coverage(
        Language::Rust,
        &format!("use {}b{};\n", "a::{\n".repeat(4000), "}".repeat(4000)),
    );
    check_coverage(Language::Solidity, &format!("function f() {{\n{}}}\n", nest("if (a) {", "}")));
    let classes: String = (0..400).map(|n| format!("{}class A:\n", " ".repeat(n))).collect();
    check_coverage(Language::Python, &format!("{classes}{}pass\n", " ".repeat(400)));
}

fn nest(open: &str, close: &str) -> String {
    format!("{}{}", format!("{open}\n").repeat(4000), format!("{close}\n").repeat(4000))
}

/// Imports in deeply nested modules are counted but not listed.
#[test]
fn counts_imports_beyond_module_depth_limit() {
    let text = format!("{}{}", "mod a {\nuse b::c;\n".repeat(1000), "}\n".repeat(1000));
    let found = source::extract_imports(Language::Rust, &text);
    assert_eq!(found.imports.len(), 64);
    assert_eq!(found.left_out, 1000 - 64);
    assert!(found.imports.iter().all(|import| import.within.len() <= 64));
}

/// Imports beyond the count and length limits are counted but not listed.
#[test]
fn counts_imports_beyond_list_limit() {
    let names: String = (0..5000).map(|n| format!("n{n},\n")).collect();
    let found = source::extract_imports(Language::Rust, &format!("use a::{{{names}}};\n"));
    assert_eq!((found.imports.len(), found.left_out), (2000, 3000));
    let long = format!("use {}::{{b, c}};\nuse d;\n", "a".repeat(5000));
    let found = source::extract_imports(Language::Rust, &long);
    assert_eq!((found.imports.len(), found.left_out), (1, 1));
}

/// Every chunk stores its name, so the length of a name is limited.
#[test]
fn bounds_chunk_name_length() {
    let title = "é".repeat(200_000);
    let prose = "some words\n".repeat(50_000);
    let module = "a".repeat(100);
    let deep = format!("mod {module} {{\n").repeat(50);
    for (language, text) in [
        (Language::Markdown, format!("# {title}\n## {title}\n### inner\n{prose}")),
        (Language::Markdown, format!("# {title}\n{prose}")),
        (Language::Rust, format!("{deep}{}{}", "fn f() {}\n".repeat(5000), "}\n".repeat(50))),
        (
            Language::Go,
            format!("func (a {}) f() {{\n{}}}\n", "b".repeat(5000), "x()\n".repeat(5000)),
        ),
    ] {
        let outline = build_outline(Some(language), &text);
        for name in outline.chunks.iter().filter_map(|chunk| chunk.name.as_deref()) {
            assert!(name.len() <= 240, "{language}: {} bytes", name.len());
        }
    }
}

/// The index stores outlines by content, so a text must always have an identical outline.
#[test]
fn outline_is_independent_of_earlier_parses() {
    let text = "fn a() {}\nfn b() {\n".to_owned() + &"    x();\n".repeat(500) + "}\n";
    let first = build_outline(Some(Language::Rust), &text);
    check_coverage(Language::JavaScript, &"(".repeat(300_000));
    assert_eq!(build_outline(Some(Language::Rust), &text), first);
}
