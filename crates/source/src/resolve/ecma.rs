//! TypeScript and JavaScript, by `oxc_resolver` over the guard.
//!
//! TypeScript asks as the compiler does (`.js` may mean `.ts`, types before code), JavaScript as Node and bundlers do.
//! The project's root is a folder of an invented path, so that nothing outside can be named and nothing of this machine
//! shows; `..` that leads above it finds nothing.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard::Kind;
use oxc_resolver::{
    FileMetadata, FileSystem, ResolveError, ResolveOptions, ResolverGeneric, TsconfigDiscovery,
};

use super::Resolution;
use super::files::{Files, below, join, parent};
use super::manifest::{Manifests, is_package_name, package_name};
use super::stdlib;
use crate::import::{Import, ImportKind};
use crate::language::Language;

/// Where the root is to `oxc_resolver`; no folder of a project is called so.
const ROOT: &str = "/.vouch-project-root";

pub(super) struct Ecma {
    typescript: ResolverGeneric<Project>,
    javascript: ResolverGeneric<Project>,
    /// For files whose `tsconfig.json` cannot be read.
    without_config: ResolverGeneric<Project>,
}

impl Ecma {
    pub(super) fn new(files: &Arc<Files>) -> Self {
        let project = Project(Some(Arc::clone(files)));
        let typescript =
            ResolverGeneric::new_with_file_system(project, options(Language::TypeScript));
        let javascript = typescript.clone_with_options(options(Language::JavaScript));
        let without_config = typescript
            .clone_with_options(ResolveOptions { tsconfig: None, ..options(Language::TypeScript) });
        Self { typescript, javascript, without_config }
    }

    pub(super) fn resolve(
        &self,
        files: &Files,
        manifests: &Manifests,
        from: &str,
        language: Language,
        import: &Import,
    ) -> Resolution {
        let specifier = import.specifier.as_str();
        if import.kind == ImportKind::Reference {
            return Resolution::file(
                join(parent(from), specifier).and_then(|path| files.file(&path)),
            );
        }
        if let Some(path) = self.find(from, language, specifier) {
            return Resolution::file(files.file(&path));
        }
        let bare = specifier.split(['?', '!']).next().unwrap_or(specifier);
        if bare.starts_with(['.', '/', '#']) {
            return Resolution::Missing;
        }
        if let Some((scheme, _)) = bare.split_once(':') {
            // `node:fs`, `bun:test`, `npm:zod`, `https://…`: somebody else's, by definition.
            return match scheme {
                "file" | "" => Resolution::Missing,
                _ => Resolution::External(bare.to_owned()),
            };
        }
        let package = package_name(bare);
        if stdlib::NODE.contains(&package) {
            return Resolution::External(package.to_owned());
        }
        if let Some(folder) = manifests.member(files, from, package) {
            return Resolution::file(member_file(files, &folder, &bare[package.len()..]));
        }
        let external = is_package_name(package) && manifests.declares(files, from, package);
        if external && !self.is_alias(from, bare) {
            return Resolution::External(package.to_owned());
        }
        Resolution::Missing
    }

    /// Whether `tsconfig.json` says that such names are the project's own.
    fn is_alias(&self, from: &str, specifier: &str) -> bool {
        let config = self.typescript.find_tsconfig(PathBuf::from(ROOT).join(from)).ok().flatten();
        let paths = config.as_ref().and_then(|config| config.compiler_options.paths.as_ref());
        paths.is_some_and(|paths| {
            paths.keys().any(|pattern| match pattern.split_once('*') {
                Some((head, tail)) => {
                    !head.is_empty() && specifier.starts_with(head) && specifier.ends_with(tail)
                }
                None => pattern == specifier,
            })
        })
    }

    /// The path below the root, if there is such a file.
    fn find(&self, from: &str, language: Language, specifier: &str) -> Option<String> {
        let file = PathBuf::from(ROOT).join(from);
        let found = match language {
            Language::JavaScript => self.javascript.resolve_file(&file, specifier),
            _ if specifier.starts_with('.') => self
                .typescript
                .resolve_dts(&file, specifier)
                .or_else(|_| self.typescript.resolve_file(&file, specifier)),
            _ => self
                .typescript
                .resolve_file(&file, specifier)
                .or_else(|_| self.typescript.resolve_dts(&file, specifier)),
        };
        let found = match found {
            Err(ResolveError::TsconfigLoadFailed { .. } | ResolveError::TsconfigNotFound(_)) => {
                self.without_config.resolve_file(&file, specifier)
            }
            found => found,
        };
        let path = found.ok()?.into_path_buf();
        path.strip_prefix(ROOT).ok()?.to_str().map(str::to_owned)
    }
}

fn options(language: Language) -> ResolveOptions {
    let own = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let alias = |from: &str, to: &[&str]| (from.to_owned(), own(to));
    let (extensions, extension_alias, main_fields, conditions) = match language {
        Language::JavaScript => (
            own(&[".js", ".jsx", ".mjs", ".cjs", ".json", ".ts", ".tsx", ".mts", ".cts", ".d.ts"]),
            vec![
                alias(".js", &[".js", ".jsx", ".ts", ".tsx"]),
                alias(".jsx", &[".jsx", ".tsx"]),
                alias(".mjs", &[".mjs", ".mts"]),
                alias(".cjs", &[".cjs", ".cts"]),
            ],
            own(&["module", "main"]),
            own(&["import", "require", "node", "default"]),
        ),
        _ => (
            own(&[
                ".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mts", ".d.mts", ".mjs", ".cts", ".d.cts",
                ".cjs", ".json",
            ]),
            vec![
                alias(".js", &[".ts", ".tsx", ".d.ts", ".js", ".jsx"]),
                alias(".jsx", &[".tsx", ".d.ts", ".jsx"]),
                alias(".mjs", &[".mts", ".d.mts", ".mjs"]),
                alias(".cjs", &[".cts", ".d.cts", ".cjs"]),
            ],
            own(&["types", "typings", "module", "main"]),
            own(&["types", "import", "require", "node", "default"]),
        ),
    };
    ResolveOptions {
        cwd: Some(ROOT.into()),
        tsconfig: Some(TsconfigDiscovery::Auto),
        extensions,
        extension_alias,
        main_fields,
        condition_names: conditions,
        builtin_modules: true,
        // What a link leads to is asked of the guard, once, for the file that was found.
        symlinks: false,
        node_path: false,
        ..ResolveOptions::default()
    }
}

/// A member of the workspace that is not linked into `node_modules`, or whose exports name files that are not built
/// yet: its sources, where packages keep them.
fn member_file(files: &Files, folder: &str, rest: &str) -> Option<String> {
    let rest = rest.trim_start_matches('/');
    let stems = match rest {
        "" => vec!["src/index", "index", "src/main", "main", "lib/index"],
        _ => vec![rest, ""],
    };
    let endings = ["", ".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts"];
    let mut candidates = Vec::new();
    for stem in stems.into_iter().filter(|stem| !stem.is_empty()) {
        for place in [
            stem.to_owned(),
            format!("src/{stem}"),
            format!("{stem}/index"),
            format!("src/{stem}/index"),
        ] {
            candidates.extend(endings.iter().map(|ending| format!("{place}{ending}")));
        }
    }
    candidates.iter().find_map(|path| files.file(&below(folder, path)))
}

/// The project as `oxc_resolver` sees it. Links are followed by the guard, so none shows.
struct Project(Option<Arc<Files>>);

impl Project {
    fn files(&self, path: &Path) -> io::Result<(&Files, String)> {
        let files = self.0.as_deref();
        let path = path.strip_prefix(ROOT).ok().and_then(Path::to_str);
        files.zip(path.map(str::to_owned)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl FileSystem for Project {
    /// A project without files: the trait wants a way to make one from nothing.
    fn new() -> Self {
        Self(None)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_to_string(path).map(String::into_bytes)
    }

    fn read_to_string(&self, path: &Path) -> io::Result<String> {
        let (files, path) = self.files(path)?;
        let text = files.read(&path).ok_or(io::ErrorKind::NotFound)?;
        Ok(text.to_string())
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        let (files, path) = self.files(path)?;
        let seen = files.look(&path).ok_or(io::ErrorKind::NotFound)?;
        Ok(FileMetadata::new(seen.kind == Kind::File, seen.kind == Kind::Folder, false))
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        self.metadata(path)
    }

    fn read_link(&self, _: &Path) -> Result<PathBuf, ResolveError> {
        Err(io::Error::from(io::ErrorKind::InvalidInput).into())
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        let (files, path) = self.files(path)?;
        let seen = files.look(&path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Path::new(ROOT).join(seen.path))
    }
}
