//! Files of projects and their compilers: compiler output, source maps and source code.

use solidity::{SourceMap, Toolchain, instruction_offsets, load_build};
use source::{Language, build_outline, extract_imports};

use crate::scratch::with_file;

const LANGUAGES: [Language; 11] = [
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
];

/// Output of any compiler. No compiler is available, so nothing is started.
pub(crate) fn read_solc_output(data: &[u8]) {
    with_file("out.json", data, |path| {
        if let Ok(build) = load_build(path, &Toolchain::default()) {
            for contract in &build.contracts {
                instruction_offsets(&contract.runtime.bytes).for_each(drop);
            }
        }
    });
}

/// A source map of any text, applied to code of the same bytes.
pub(crate) fn parse_source_map(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    SourceMap::parse(text).spans_by_offset(data).for_each(drop);
}

/// A source file. The first byte chooses its language.
pub(crate) fn analyze_source(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let language = LANGUAGES[usize::from(*choice) % LANGUAGES.len()];
    let outline = build_outline(Some(language), text);
    for chunk in &outline.chunks {
        assert!(chunk.lines.start <= chunk.lines.end, "{chunk:?}");
        let bytes = chunk.bytes.start as usize..chunk.bytes.end as usize;
        assert!(text.get(bytes).is_some(), "a chunk divides a character: {chunk:?}");
    }
    drop(extract_imports(language, text));
}
