//! Hostile texts: any text gives an outline, bounded in number and in work.

use proptest::prelude::*;
use source::{Language, outline};

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

fn covers(language: Language, text: &str) -> usize {
    let outline = outline(Some(language), text);
    let mut end = 0;
    for chunk in &outline.chunks {
        assert_eq!(chunk.bytes.start, end);
        assert!(chunk.bytes.end > end, "no chunk is empty");
        assert!(chunk.lines.start >= 1 && chunk.lines.end > chunk.lines.start);
        end = chunk.bytes.end;
        assert!(text.is_char_boundary(end as usize));
    }
    assert_eq!(end as usize, text.len());
    outline.chunks.len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Pieces of programs in any order, with characters that no program has.
    #[test]
    fn any_text_is_covered(words in prop::collection::vec(prop_oneof![
        Just("import x from './x';\n"), Just("fn f() {"), Just("}\n"), Just("class A:\n    "),
        Just("/* "), Just(" */"), Just("// é\n"), Just("\""), Just("'"), Just("`"), Just("#"), Just("# h\n"),
        Just("((((("), Just(")"), Just("\n\n"), Just("\r\n"), Just("é🎉"), Just("export default "), Just("mod a;"),
        Just("use a::{b, c::*};"), Just("#include \"x\"\n"), Just("def f(): pass\n"), Just("@x\n"), Just("\t"),
        Just("```\n"), Just("impl X for Y {"), Just("\0"), Just("\u{feff}"), Just("long_word_without_end_"),
    ], 0..60), language in prop::sample::select(LANGUAGES.to_vec())) {
        covers(language, &words.concat());
    }
}

#[test]
fn one_line_of_900_kilobytes() {
    let line = "var a=1;function b(c){return c+1}".repeat(900 * 1024 / 33);
    for language in [Language::JavaScript, Language::Plain("json"), Language::Markdown] {
        assert!(covers(language, &line) <= 64, "{language}");
    }
}

#[test]
fn a_million_small_things() {
    let alternating = "import a from 'a';\nf();\n".repeat(30_000);
    assert!(covers(Language::TypeScript, &alternating) <= 1600);
    let blank = "\n".repeat(500_000);
    assert!(covers(Language::Plain("text"), &blank) <= 1600);
    let headings = "# a\n".repeat(100_000);
    assert!(covers(Language::Markdown, &headings) <= 1600);
}

#[test]
fn nesting_without_end() {
    for (language, open) in [
        (Language::JavaScript, "(["),
        (Language::Rust, "mod a { fn f() { "),
        (Language::Python, "(("),
        (Language::Cpp, "namespace a { "),
        (Language::Java, "class A { "),
    ] {
        let text = open.repeat(20_000);
        covers(language, &format!("{text}\n"));
    }
}

/// Text that is closed again is a tree as deep as it is written, in every language that has trees.
#[test]
fn nesting_that_is_closed() {
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
        covers(language, &closed(open, close));
    }
    covers(Language::Rust, &format!("use {}b{};\n", "a::{\n".repeat(4000), "}".repeat(4000)));
    covers(Language::Solidity, &format!("function f() {{\n{}}}\n", closed("if (a) {", "}")));
    let classes: String = (0..400).map(|n| format!("{}class A:\n", " ".repeat(n))).collect();
    covers(Language::Python, &format!("{classes}{}pass\n", " ".repeat(400)));
}

fn closed(open: &str, close: &str) -> String {
    format!("{}{}", format!("{open}\n").repeat(4000), format!("{close}\n").repeat(4000))
}

/// What stands in modules without end is not listed, and that it is not is said.
#[test]
fn modules_in_modules() {
    let text = format!("{}{}", "mod a {\nuse b::c;\n".repeat(1000), "}\n".repeat(1000));
    let found = source::imports(Language::Rust, &text);
    assert_eq!(found.imports.len(), 64);
    assert_eq!(found.left_out, 1000 - 64);
    assert!(found.imports.iter().all(|import| import.within.len() <= 64));
}

/// A long beginning of many names is not written out for each of them.
#[test]
fn more_imports_than_anybody_reads() {
    let names: String = (0..5000).map(|n| format!("n{n},\n")).collect();
    let found = source::imports(Language::Rust, &format!("use a::{{{names}}};\n"));
    assert_eq!((found.imports.len(), found.left_out), (2000, 3000));
    let long = format!("use {}::{{b, c}};\nuse d;\n", "a".repeat(5000));
    let found = source::imports(Language::Rust, &long);
    assert_eq!((found.imports.len(), found.left_out), (1, 1));
}

/// Every piece carries its name, so a name is short whatever a text calls a heading or a module.
#[test]
fn names_without_end() {
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
        let outline = outline(Some(language), &text);
        for name in outline.chunks.iter().filter_map(|chunk| chunk.name.as_deref()) {
            assert!(name.len() <= 240, "{language}: {} bytes", name.len());
        }
    }
}

/// The same text, the same outline: the index keeps outlines by content.
#[test]
fn outlines_do_not_depend_on_what_was_parsed_before() {
    let text = "fn a() {}\nfn b() {\n".to_owned() + &"    x();\n".repeat(500) + "}\n";
    let first = outline(Some(Language::Rust), &text);
    covers(Language::JavaScript, &"(".repeat(300_000));
    assert_eq!(outline(Some(Language::Rust), &text), first);
}
