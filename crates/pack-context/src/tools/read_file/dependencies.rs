//! Resolves and reads the files that a file imports, within limits; omitted content is reported.

use std::collections::HashSet;
use std::io::Read as _;
use std::sync::Arc;

use contract::{CallContext, ErrorCode, ToolError};
use guard::{Guard, display_path};
use serde_json::json;
use source::{Import, ImportResolution, ImportResolver, Language, ParseCache};

use super::output::{DependencyOutput, ReadFileOutput, UnresolvedImport};

/// Maximum text of one dependency.
const MAX_CONTENT_BYTES: usize = 64 * 1024;
/// Maximum text of all dependencies together; a model's context is limited as well.
const MAX_ALL_BYTES: usize = 256 * 1024;
/// Maximum entries in each list of dependencies, packages and unresolved imports.
const MAX_LISTED: usize = 200;

/// Resolves and reads imported files.
pub(super) struct DependencyLoader {
    guard: Arc<Guard>,
    packages: Arc<Guard>,
    parsed: Arc<ParseCache>,
}

/// Returns the size limits as a rule for the contract.
pub(super) fn size_limit_rule() -> String {
    format!(
        "Dependencies are returned with at most {} KiB of text each and {} KiB in total; omissions are reported.",
        MAX_CONTENT_BYTES / 1024,
        MAX_ALL_BYTES / 1024
    )
}

impl DependencyLoader {
    pub(super) fn new(guard: Arc<Guard>, packages: Arc<Guard>) -> Self {
        Self { guard, packages, parsed: Arc::default() }
    }

    /// Adds the imports of the file to the output.
    ///
    /// Returns an error if the file has a syntax error and no import could be parsed.
    pub(super) fn add_dependencies(
        &self,
        output: &mut ReadFileOutput,
        language: Language,
        requested: &str,
        ctx: &CallContext,
    ) -> Result<(), ToolError> {
        let parsed = self.parsed.extract_imports(language, &output.file.content);
        let mut details = Vec::new();
        if let Some(stopped) = parsed.stopped {
            let location = format!("Syntax error at line {}", stopped.line);
            if stopped.whole && parsed.imports.is_empty() {
                return Err(parse_error(requested, location));
            }
            details.push(format!("{location}: imports that could not be parsed are not listed"));
        }
        let mut found = self.resolve_imports(&output.file.path, language, &parsed.imports, ctx)?;
        let omitted = [
            (parsed.left_out as usize, "imports"),
            (truncate_list(&mut found.dependencies), "dependencies"),
            (truncate_list(&mut found.externals), "packages"),
            (truncate_list(&mut found.unresolved), "unresolved imports"),
        ];
        for (more, noun) in omitted.into_iter().filter(|(more, _)| *more > 0) {
            details.push(format!("{more} more {noun} are not listed"));
        }
        self.read_contents(&mut found.dependencies, ctx)?;
        output.dependencies = found.dependencies;
        output.externals = Some(found.externals);
        output.unresolved = Some(found.unresolved);
        output.metadata.details = (!details.is_empty()).then(|| details.join("; "));
        Ok(())
    }

    /// Resolves imports; each file is listed once, at its first import.
    ///
    /// Every call uses a new resolver, because files change between calls. Only parsed texts are cached.
    fn resolve_imports(
        &self,
        path: &str,
        language: Language,
        imports: &[Import],
        ctx: &CallContext,
    ) -> Result<ResolvedImports, ToolError> {
        let packages = Arc::clone(&self.packages);
        let resolver = ImportResolver::with_cache(packages, Arc::clone(&self.parsed));
        let mut found = ResolvedImports::default();
        let mut files = HashSet::from([path.to_owned()]);
        let mut externals = HashSet::new();
        for import in imports {
            ctx.check_cancelled()?;
            match resolver.resolve(path, language, import) {
                ImportResolution::Files(paths) => {
                    let new = paths.into_iter().filter(|path| files.insert(path.clone()));
                    found.dependencies.extend(new.map(|path| DependencyOutput {
                        path,
                        kind: import.kind.name(),
                        level: 1,
                        line: import.line,
                        content: None,
                        omitted: None,
                    }));
                }
                ImportResolution::External(name) => {
                    if externals.insert(name.clone()) {
                        found.externals.push(name);
                    }
                }
                ImportResolution::Missing => found.unresolved.push(UnresolvedImport {
                    specifier: display_path(&import.specifier),
                    line: import.line,
                }),
            }
        }
        Ok(found)
    }

    fn read_contents(
        &self,
        dependencies: &mut [DependencyOutput],
        ctx: &CallContext,
    ) -> Result<(), ToolError> {
        let mut left = MAX_ALL_BYTES;
        for dependency in dependencies {
            ctx.check_cancelled()?;
            let limit = MAX_CONTENT_BYTES.min(left);
            match self.read_prefix(&dependency.path, limit) {
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

    /// Reads up to `limit` bytes of a file, ending at a line end; returns the text and a note about the omitted rest.
    ///
    /// An error is a note on why the whole file is omitted.
    fn read_prefix(&self, path: &str, limit: usize) -> Result<(String, Option<String>), String> {
        let opened = self.guard.open_file(path).map_err(|refusal| format!("the file {refusal}"))?;
        let size = opened.metadata.len();
        let mut bytes = Vec::new();
        let read = opened.file.take(limit as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|_| "failed to read the file".to_owned())?;
        let whole = bytes.len() <= limit;
        if !whole {
            let line = bytes[..limit].iter().rposition(|byte| *byte == b'\n');
            bytes.truncate(line.map_or(0, |at| at + 1));
        }
        let content =
            String::from_utf8(bytes).map_err(|_| "the file is not UTF-8 text".to_owned())?;
        let omitted = (!whole).then(|| {
            let rest = size.saturating_sub(content.len() as u64);
            let scope =
                if limit == MAX_CONTENT_BYTES { "one dependency" } else { "all dependencies" };
            format!("the last {rest} bytes, over the limit for {scope}; read the file itself")
        });
        Ok((content, omitted))
    }
}

/// Imports of a file, by how they resolved.
#[derive(Default)]
struct ResolvedImports {
    dependencies: Vec<DependencyOutput>,
    externals: Vec<String>,
    unresolved: Vec<UnresolvedImport>,
}

/// Truncates a list to [`MAX_LISTED`] entries; returns the number of removed entries.
fn truncate_list<T>(list: &mut Vec<T>) -> usize {
    let more = list.len().saturating_sub(MAX_LISTED);
    list.truncate(MAX_LISTED);
    more
}

fn parse_error(requested: &str, location: String) -> ToolError {
    let path = display_path(requested);
    ToolError::new(ErrorCode::InvalidInput, "Failed to parse imports")
        .with_detail("details", location)
        .with_detail("fallback", json!({"tool": "read_file", "path": path, "includeDeps": false}))
        .with_detail("path", path)
}
