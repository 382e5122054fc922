//! What is asked: a pattern, compiled within bounds, and which files it is asked of.

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use regex_syntax::hir::Hir;
use regex_syntax::{ParserBuilder, ast};

use super::filter::{Filter, FilterError};
use crate::trigram::Plan;

/// What a compiled pattern may take. Ripgrep allows ten times as much; a pattern that needs more than this takes
/// longer to compile than most searches run.
const MAX_PROGRAM_BYTES: usize = 10 * 1024 * 1024;
/// What each thread may keep of the automaton that it builds as it goes.
const MAX_CACHE_BYTES: usize = 10 * 1024 * 1024;
/// How deep groups may nest; as in ripgrep.
const MAX_NESTING: u32 = 250;

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("{reason}")]
    Syntax {
        reason: String,
        /// Where it goes wrong, in characters from 1.
        position: usize,
    },
    #[error("a line feed can match nothing, because lines are searched one by one")]
    LineFeed { position: Option<usize> },
    #[error("a NUL byte can match nothing, because files that hold one are not text")]
    Nul { position: Option<usize> },
    #[error(
        "it takes more than {MAX_PROGRAM_BYTES} bytes once compiled; repeat less, or search for a part of it"
    )]
    TooBig,
    #[error("{0}")]
    Other(String),
}

impl PatternError {
    pub fn position(&self) -> Option<usize> {
        match self {
            Self::Syntax { position, .. } => Some(*position),
            Self::LineFeed { position } | Self::Nul { position } => *position,
            Self::TooBig | Self::Other(_) => None,
        }
    }
}

/// A search that can be run.
#[derive(Debug)]
pub struct Query {
    pub(super) matcher: RegexMatcher,
    pub(super) plan: Plan,
    pub(super) filter: Filter,
    pub(super) limit: usize,
}

impl Query {
    /// All files, the first fifty matches.
    pub fn new(pattern: &str, case_sensitive: bool) -> Result<Self, PatternError> {
        let tree = parse(pattern, case_sensitive)?;
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
            .map_err(|error| not_compiled(&error, pattern))?;
        Ok(Self { matcher, plan: Plan::of(&tree), filter: Filter::default(), limit: 50 })
    }

    /// Only files that match the glob.
    pub fn in_files(mut self, glob: &str) -> Result<Self, FilterError> {
        self.filter = Filter::new(glob)?;
        Ok(self)
    }

    /// At most this many matches are shown; all are counted.
    #[must_use]
    pub fn limit(mut self, matches: usize) -> Self {
        self.limit = matches;
        self
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether a line of this content matches.
    pub fn matches(&self, content: &[u8]) -> bool {
        let mut found = false;
        let sink = grep_searcher::sinks::Bytes(|_, _| {
            found = true;
            Ok(false)
        });
        // Only reading can fail.
        super::reader::settings().build().search_reader(&self.matcher, content, sink).is_ok()
            && found
    }
}

/// The syntax tree as the matcher sees it, and its errors with their place.
fn parse(pattern: &str, case_sensitive: bool) -> Result<Hir, PatternError> {
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
            other => return PatternError::Other(other.to_string()),
        };
        PatternError::Syntax { reason, position: character(pattern, offset) }
    })
}

fn not_compiled(error: &grep_regex::Error, pattern: &str) -> PatternError {
    match error.kind() {
        ErrorKind::NotAllowed(_) => PatternError::LineFeed { position: find(pattern, '\n') },
        ErrorKind::Banned(_) => PatternError::Nul { position: find(pattern, '\0') },
        // The pattern was parsed before, so what is left is its size.
        ErrorKind::Regex(_) => PatternError::TooBig,
        _ => PatternError::Other(error.to_string()),
    }
}

/// Where a pattern asks for this very character, however it is written.
fn find(pattern: &str, wanted: char) -> Option<usize> {
    struct Finder(char);
    impl ast::Visitor for Finder {
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
    ast::visit(&tree, Finder(wanted)).err().map(|offset| character(pattern, offset))
}

/// The character at a byte offset, from 1.
fn character(pattern: &str, offset: usize) -> usize {
    pattern.char_indices().take_while(|(at, _)| *at < offset).count() + 1
}
