//! Where in the source a failure happened, as far as the compiler's maps tell.

use ::fuzz::campaign::Site;
use ::fuzz::chain::Part;
use ::fuzz::target::Target;

/// `path:line` of a place in code; None for tests that are calls of their own, and for code that the compiler made up.
pub(super) fn line(target: &Target, site: Site) -> Option<String> {
    if site == (0, 0) {
        return None;
    }
    let known = target.codes.known().get(site.0 as usize)?;
    let contract = &target.build.contracts[known.contract];
    let code = match known.part {
        Part::Creation => &contract.creation,
        Part::Runtime => &contract.runtime,
    };
    let spans = code.source_map.by_offset(&code.bytes);
    let (_, span) = spans.into_iter().find(|(offset, _)| *offset == site.1 as usize)?;
    let source = target.build.sources.iter().find(|source| Some(source.id) == span.source)?;
    let before = source.text.as_bytes().get(..span.start as usize)?;
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    Some(format!("{}:{line}", source.path))
}
