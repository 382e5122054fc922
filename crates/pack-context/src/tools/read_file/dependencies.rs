//! The files that a file imports, found and read within bounds; what is left out is said.

use std::collections::HashSet;
use std::io::Read as _;
use std::sync::Arc;

use contract::{CallContext, Code, ToolError};
use guard::{Guard, shown};
use serde_json::json;
use source::{Import, Language, Parsed, Resolution, Resolver};

use super::answer::{Answer, Dependency, Unresolved};

/// Of one dependency, and of all together: an assistant's attention is bounded too.
const MAX_CONTENT_BYTES: usize = 64 * 1024;
const MAX_ALL_BYTES: usize = 256 * 1024;
/// Dependencies, packages and unresolved imports that are listed, each.
const MAX_LISTED: usize = 200;

pub(super) struct Dependencies {
    guard: Arc<Guard>,
    packages: Arc<Guard>,
    parsed: Arc<Parsed>,
}

pub(super) fn rule() -> String {
    format!(
        "Dependencies come with at most {} KiB of text each and {} KiB in all; what is left out is said.",
        MAX_CONTENT_BYTES / 1024,
        MAX_ALL_BYTES / 1024
    )
}

impl Dependencies {
    pub(super) fn new(guard: Arc<Guard>, packages: Arc<Guard>) -> Self {
        Self { guard, packages, parsed: Arc::default() }
    }

    /// Completes an answer by what its file imports.
    pub(super) fn add_to(
        &self,
        answer: &mut Answer,
        language: Language,
        asked: &str,
        ctx: &CallContext,
    ) -> Result<(), ToolError> {
        let parsed = self.parsed.imports(language, &answer.file.content);
        let mut details = Vec::new();
        if let Some(stopped) = parsed.stopped {
            let place = format!("Syntax error at line {}", stopped.line);
            if stopped.whole && parsed.imports.is_empty() {
                return Err(unparsable(asked, place));
            }
            details.push(format!("{place}: imports that could not be parsed are not listed"));
        }
        let mut found = self.resolve(&answer.file.path, language, &parsed.imports, ctx)?;
        let left_out = [
            (parsed.left_out as usize, "imports"),
            (bound(&mut found.dependencies), "dependencies"),
            (bound(&mut found.externals), "packages"),
            (bound(&mut found.unresolved), "unresolved imports"),
        ];
        for (more, what) in left_out.into_iter().filter(|(more, _)| *more > 0) {
            details.push(format!("{more} more {what} are not listed"));
        }
        self.read(&mut found.dependencies, ctx)?;
        answer.dependencies = found.dependencies;
        answer.externals = Some(found.externals);
        answer.unresolved = Some(found.unresolved);
        answer.metadata.details = (!details.is_empty()).then(|| details.join("; "));
        Ok(())
    }

    /// Each file once, as first imported. A new resolver each time: files come and go between calls, and only what a
    /// text says stays what it is.
    fn resolve(
        &self,
        path: &str,
        language: Language,
        imports: &[Import],
        ctx: &CallContext,
    ) -> Result<Found, ToolError> {
        let packages = Arc::clone(&self.packages);
        let resolver = Resolver::remembering(packages, Arc::clone(&self.parsed));
        let mut found = Found::default();
        let mut files = HashSet::from([path.to_owned()]);
        let mut externals = HashSet::new();
        for import in imports {
            ctx.check_cancelled()?;
            match resolver.resolve(path, language, import) {
                Resolution::Files(paths) => {
                    let new = paths.into_iter().filter(|path| files.insert(path.clone()));
                    found.dependencies.extend(new.map(|path| Dependency {
                        path,
                        kind: import.kind.name(),
                        level: 1,
                        line: import.line,
                        content: None,
                        omitted: None,
                    }));
                }
                Resolution::External(name) => {
                    if externals.insert(name.clone()) {
                        found.externals.push(name);
                    }
                }
                Resolution::Missing => found
                    .unresolved
                    .push(Unresolved { specifier: shown(&import.specifier), line: import.line }),
            }
        }
        Ok(found)
    }

    fn read(&self, dependencies: &mut [Dependency], ctx: &CallContext) -> Result<(), ToolError> {
        let mut left = MAX_ALL_BYTES;
        for dependency in dependencies {
            ctx.check_cancelled()?;
            let bound = MAX_CONTENT_BYTES.min(left);
            match self.beginning(&dependency.path, bound) {
                Ok((content, None)) => {
                    left -= content.len();
                    dependency.content = Some(content);
                }
                Ok((content, Some(omitted))) => {
                    left -= content.len();
                    dependency.content = (!content.is_empty()).then_some(content);
                    dependency.omitted = Some(omitted);
                }
                Err(omitted) => dependency.omitted = Some(omitted),
            }
        }
        Ok(())
    }

    /// As much of a file as the bound allows, up to the end of a line, and what is missing.
    fn beginning(&self, path: &str, bound: usize) -> Result<(String, Option<String>), String> {
        let opened = self.guard.open_file(path).map_err(|refusal| format!("the file {refusal}"))?;
        let size = opened.metadata.len();
        let mut bytes = Vec::new();
        let read = opened.file.take(bound as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|_| "the file could not be read".to_owned())?;
        let whole = bytes.len() <= bound;
        if !whole {
            let line = bytes[..bound].iter().rposition(|byte| *byte == b'\n');
            bytes.truncate(line.map_or(0, |at| at + 1));
        }
        let content =
            String::from_utf8(bytes).map_err(|_| "the file is not UTF-8 text".to_owned())?;
        let omitted = (!whole).then(|| {
            let rest = size.saturating_sub(content.len() as u64);
            let limit =
                if bound == MAX_CONTENT_BYTES { "one dependency" } else { "all dependencies" };
            format!("the last {rest} bytes, over the limit for {limit}; read the file itself")
        });
        Ok((content, omitted))
    }
}

#[derive(Default)]
struct Found {
    dependencies: Vec<Dependency>,
    externals: Vec<String>,
    unresolved: Vec<Unresolved>,
}

/// Cuts a list to what is listed; how many that leaves out.
fn bound<T>(list: &mut Vec<T>) -> usize {
    let more = list.len().saturating_sub(MAX_LISTED);
    list.truncate(MAX_LISTED);
    more
}

fn unparsable(asked: &str, place: String) -> ToolError {
    let path = shown(asked);
    ToolError::new(Code::InvalidInput, "Failed to parse imports")
        .with("details", place)
        .with("fallback", json!({"tool": "read_file", "path": path, "includeDeps": false}))
        .with("path", path)
}
