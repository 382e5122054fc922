//! A grep query: a pattern that is compiled within size limits, and a filter for files.

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use regex_syntax::hir::Hir;
use regex_syntax::{ParserBuilder, ast};

use super::filter::{FilterError, GlobFilter};
use crate::trigram::TrigramPlan;

/// Maximum size of a compiled pattern. Ripgrep allows ten times as much, but compiling a larger pattern takes longer
/// than most searches.
const MAX_PROGRAM_BYTES: usize = 10 * 1024 * 1024;
/// Maximum size of the lazy DFA cache of each thread.
const MAX_CACHE_BYTES: usize = 10 * 1024 * 1024;
/// Maximum nesting depth of groups, as in ripgrep.
const MAX_NESTING: u32 = 250;

/// An invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrepPatternError {
    #[error("{reason}")]
    Syntax {
        reason: String,
        /// Position of the error, in characters, starting at 1.
        position: usize,
    },
    #[error("a line feed never matches: files are searched line by line")]
    LineFeed { position: Option<usize> },
    #[error("a NUL byte never matches: a file is searched only up to its first NUL byte")]
    Nul { position: Option<usize> },
    #[error(
        "compiled pattern exceeds {MAX_PROGRAM_BYTES} bytes; use fewer repetitions or a shorter pattern"
    )]
    TooBig,
    #[error("{0}")]
    Other(String),
}

impl GrepPatternError {
    /// Returns the position of the error in the pattern, in characters, starting at 1.
    pub fn position(&self) -> Option<usize> {
        match self {
            Self::Syntax { position, .. } => Some(*position),
            Self::LineFeed { position } | Self::Nul { position } => *position,
            Self::TooBig | Self::Other(_) => None,
        }
    }
}

/// A compiled search.
#[derive(Debug)]
pub struct GrepQuery {
    pub(super) matcher: RegexMatcher,
    pub(super) plan: TrigramPlan,
    pub(super) filter: GlobFilter,
    pub(super) limit: usize,
}

impl GrepQuery {
    /// Compiles a pattern. By default, the query covers all files and returns the first 50 matches.
    pub fn new(pattern: &str, case_sensitive: bool) -> Result<Self, GrepPatternError> {
        let tree = parse_pattern(pattern, case_sensitive)?;
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(!case_sensitive)
            .multi_line(true)
            .unicode(true)
            .octal(false)
            .line_terminator(Some(b'\n'))
            .ban_byte(Some(0))
            .size_limit(MAX_PROGRAM_BYTES)
            .dfa_size_limit(MAX_CACHE_BYTES)
            .nest_limit(MAX_NESTING)
            .build(pattern)
            .map_err(|error| convert_compile_error(&error, pattern))?;
        Ok(Self {
            matcher,
            plan: TrigramPlan::from_pattern(&tree),
            filter: GlobFilter::default(),
            limit: 50,
        })
    }

    /// Restricts the search to files that match `glob`.
    pub fn with_glob(mut self, glob: &str) -> Result<Self, FilterError> {
        self.filter = GlobFilter::new(glob)?;
        Ok(self)
    }

    /// Sets the maximum number of returned matches. All matches are counted.
    #[must_use]
    pub fn with_limit(mut self, matches: usize) -> Self {
        self.limit = matches;
        self
    }

    pub fn plan(&self) -> &TrigramPlan {
        &self.plan
    }

    /// Returns true if a line of `content` matches.
    pub fn matches_content(&self, content: &[u8]) -> bool {
        let mut found = false;
        let sink = grep_searcher::sinks::Bytes(|_, _| {
            found = true;
            Ok(false)
        });
        // Searching a slice cannot fail.
        super::reader::searcher_settings()
            .build()
            .search_reader(&self.matcher, content, sink)
            .is_ok()
            && found
    }
}

/// Parses a pattern with the options of the matcher. Errors carry their position.
fn parse_pattern(pattern: &str, case_sensitive: bool) -> Result<Hir, GrepPatternError> {
    let mut parser = ParserBuilder::new()
        .case_insensitive(!case_sensitive)
        .multi_line(true)
        .unicode(true)
        .octal(false)
        .utf8(false)
        .nest_limit(MAX_NESTING)
        .build();
    parser.parse(pattern).map_err(|error| {
        let (reason, offset) = match &error {
            regex_syntax::Error::Parse(error) => {
                (error.kind().to_string(), error.span().start.offset)
            }
            regex_syntax::Error::Translate(error) => {
                (error.kind().to_string(), error.span().start.offset)
            }
            other => return GrepPatternError::Other(other.to_string()),
        };
        GrepPatternError::Syntax { reason, position: character_position(pattern, offset) }
    })
}

fn convert_compile_error(error: &grep_regex::Error, pattern: &str) -> GrepPatternError {
    match error.kind() {
        ErrorKind::NotAllowed(_) => {
            GrepPatternError::LineFeed { position: find_character(pattern, '\n') }
        }
        ErrorKind::Banned(_) => GrepPatternError::Nul { position: find_character(pattern, '\0') },
        // The pattern has been parsed successfully, so only its size can be wrong.
        ErrorKind::Regex(_) => GrepPatternError::TooBig,
        _ => GrepPatternError::Other(error.to_string()),
    }
}

/// Returns the position of the first literal `wanted` in the pattern, in any notation.
fn find_character(pattern: &str, wanted: char) -> Option<usize> {
    struct CharacterFinder(char);
    impl ast::Visitor for CharacterFinder {
        type Output = ();
        type Err = usize;

        fn finish(self) -> Result<(), usize> {
            Ok(())
        }

        fn visit_pre(&mut self, part: &ast::Ast) -> Result<(), usize> {
            match part {
                ast::Ast::Literal(literal) if literal.c == self.0 => Err(literal.span.start.offset),
                _ => Ok(()),
            }
        }

        fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), usize> {
            match item {
                ast::ClassSetItem::Literal(literal) if literal.c == self.0 => {
                    Err(literal.span.start.offset)
                }
                _ => Ok(()),
            }
        }
    }
    let tree =
        ast::parse::ParserBuilder::new().nest_limit(MAX_NESTING).build().parse(pattern).ok()?;
    ast::visit(&tree, CharacterFinder(wanted))
        .err()
        .map(|offset| character_position(pattern, offset))
}

/// Converts a byte offset to a character position, starting at 1.
fn character_position(pattern: &str, offset: usize) -> usize {
    pattern.char_indices().take_while(|(at, _)| *at < offset).count() + 1
}
