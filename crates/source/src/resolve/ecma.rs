//! TypeScript and JavaScript, by `oxc_resolver` over the guard.
//!
//! TypeScript asks as the compiler does (`.js` may mean `.ts`, types before code), JavaScript as Node and bundlers do.
//! `project.rs` is the project as it sees it.

mod project;

use std::path::PathBuf;
use std::sync::Arc;

use oxc_resolver::{ResolveError, ResolveOptions, ResolverGeneric, TsconfigDiscovery};

use self::project::{Project, ROOT};
use super::Resolution;
use super::files::{Files, below, join, parent};
use super::manifest::{Manifests, is_package_name, package_name};
use super::stdlib;
use crate::import::{Import, ImportKind};
use crate::language::Language;

pub(super) struct Ecma {
    typescript: ResolverGeneric<Project>,
    javascript: ResolverGeneric<Project>,
    /// For files whose `tsconfig.json` builds on one that is not there.
    own_config: ResolverGeneric<Project>,
    /// For files whose `tsconfig.json` cannot be read.
    without_config: ResolverGeneric<Project>,
}

impl Ecma {
    pub(super) fn new(files: &Arc<Files>) -> Self {
        let typescript = ResolverGeneric::new_with_file_system(
            Project::of(files),
            options(Language::TypeScript),
        );
        let javascript = typescript.clone_with_options(options(Language::JavaScript));
        let own_config = ResolverGeneric::new_with_file_system(
            Project::of(files).with_own_configs(),
            options(Language::TypeScript),
        );
        let without_config = typescript
            .clone_with_options(ResolveOptions { tsconfig: None, ..options(Language::TypeScript) });
        Self { typescript, javascript, own_config, without_config }
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
        if let Ok(path) = self.find(from, language, specifier) {
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
            let rest = bare[package.len()..].trim_start_matches('/');
            return Resolution::file(self.member_file(files, &folder, language, bare, rest));
        }
        let external = is_package_name(package) && manifests.declares(files, from, package);
        if external && !self.is_alias(from, bare) {
            return Resolution::External(package.to_owned());
        }
        Resolution::Missing
    }

    /// Whether `tsconfig.json` says that such names are the project's own.
    fn is_alias(&self, from: &str, specifier: &str) -> bool {
        let file = PathBuf::from(ROOT).join(from);
        let config = self.typescript.find_tsconfig(&file);
        let config = config.or_else(|_| self.own_config.find_tsconfig(&file)).ok().flatten();
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

    /// The file of a member of the workspace that is not linked into `node_modules`: as its manifest says, asked from
    /// inside, where a package may be called by its own name.
    fn member_file(
        &self,
        files: &Files,
        folder: &str,
        language: Language,
        specifier: &str,
        rest: &str,
    ) -> Option<String> {
        let inside = below(folder, "package.json");
        match self.find(&inside, language, specifier) {
            Ok(path) => return files.file(&path),
            Err(ResolveError::PackagePathNotExported { .. }) => return None,
            Err(_) => {}
        }
        let named = self.find(&inside, language, &format!("./{rest}")).ok();
        named.and_then(|path| files.file(&path)).or_else(|| unbuilt(files, folder, rest))
    }

    /// The path below the root, if there is such a file.
    fn find(
        &self,
        from: &str,
        language: Language,
        specifier: &str,
    ) -> Result<String, ResolveError> {
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
                .or_else(|error| self.typescript.resolve_dts(&file, specifier).map_err(|_| error)),
        };
        let found = match found {
            Err(error) if is_of_config(&error) => self.own_config.resolve_file(&file, specifier),
            found => found,
        };
        let found = match found {
            Err(error) if is_of_config(&error) => {
                self.without_config.resolve_file(&file, specifier)
            }
            found => found,
        };
        let path = found?.into_path_buf();
        let inside = path.strip_prefix(ROOT).ok().and_then(|path| path.to_str());
        inside.map(str::to_owned).ok_or_else(|| ResolveError::NotFound(specifier.to_owned()))
    }
}

fn is_of_config(error: &ResolveError) -> bool {
    matches!(error, ResolveError::TsconfigLoadFailed { .. } | ResolveError::TsconfigNotFound(_))
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

/// The source of what a package's manifest names but nobody has built yet, where packages keep their sources.
fn unbuilt(files: &Files, folder: &str, rest: &str) -> Option<String> {
    let stems = match rest {
        "" => vec!["src/index", "index", "src/main", "main", "lib/index"],
        rest => vec![rest],
    };
    let endings = ["", ".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts"];
    let mut candidates = Vec::new();
    for stem in stems {
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
