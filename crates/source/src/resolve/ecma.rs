//! TypeScript and JavaScript resolution with `oxc_resolver`.
//!
//! TypeScript imports resolve as in the compiler: `.js` may mean `.ts`, and types come before code. JavaScript imports
//! resolve as in Node and bundlers. `file_system.rs` exposes the project to `oxc_resolver` through the guard.

mod file_system;

use std::path::PathBuf;
use std::sync::Arc;

use oxc_resolver::{ResolveError, ResolveOptions, ResolverGeneric, TsconfigDiscovery};

use self::file_system::{ProjectFileSystem, ROOT};
use super::ImportResolution;
use super::package_json::{NpmManifests, is_package_name, package_name};
use super::project_files::{ProjectFiles, child_path, join_path, parent_folder};
use super::stdlib;
use crate::import::{Import, ImportKind};
use crate::language::Language;

/// Resolves TypeScript and JavaScript imports.
pub(super) struct EcmaResolver {
    typescript: ResolverGeneric<ProjectFileSystem>,
    javascript: ResolverGeneric<ProjectFileSystem>,
    /// For files with a `tsconfig.json` that extends a missing one.
    own_config: ResolverGeneric<ProjectFileSystem>,
    /// For files with an invalid `tsconfig.json`.
    without_config: ResolverGeneric<ProjectFileSystem>,
}

impl EcmaResolver {
    pub(super) fn new(files: &Arc<ProjectFiles>) -> Self {
        let typescript = ResolverGeneric::new_with_file_system(
            ProjectFileSystem::from_files(files),
            resolve_options(Language::TypeScript),
        );
        let javascript = typescript.clone_with_options(resolve_options(Language::JavaScript));
        let own_config = ResolverGeneric::new_with_file_system(
            ProjectFileSystem::from_files(files).without_missing_extends(),
            resolve_options(Language::TypeScript),
        );
        let without_config = typescript.clone_with_options(ResolveOptions {
            tsconfig: None,
            ..resolve_options(Language::TypeScript)
        });
        Self { typescript, javascript, own_config, without_config }
    }

    pub(super) fn resolve(
        &self,
        files: &ProjectFiles,
        manifests: &NpmManifests,
        from: &str,
        language: Language,
        import: &Import,
    ) -> ImportResolution {
        let specifier = import.specifier.as_str();
        if import.kind == ImportKind::Reference {
            return ImportResolution::from_file(
                join_path(parent_folder(from), specifier).and_then(|path| files.find_file(&path)),
            );
        }
        if let Ok(path) = self.find_path(from, language, specifier) {
            return ImportResolution::from_file(files.find_file(&path));
        }
        let bare = specifier.split(['?', '!']).next().unwrap_or(specifier);
        if bare.starts_with(['.', '/', '#']) {
            return ImportResolution::Missing;
        }
        if let Some((scheme, _)) = bare.split_once(':') {
            // Specifiers with a scheme (`node:fs`, `bun:test`, `npm:zod`, `https://…`) are always external.
            return match scheme {
                "file" | "" => ImportResolution::Missing,
                _ => ImportResolution::External(bare.to_owned()),
            };
        }
        let package = package_name(bare);
        if stdlib::NODE.contains(&package) {
            return ImportResolution::External(package.to_owned());
        }
        if let Some(folder) = manifests.find_member(files, from, package) {
            let rest = bare[package.len()..].trim_start_matches('/');
            return ImportResolution::from_file(
                self.find_member_file(files, &folder, language, bare, rest),
            );
        }
        let external = is_package_name(package) && manifests.declares_package(files, from, package);
        if external && !self.is_path_alias(from, bare) {
            return ImportResolution::External(package.to_owned());
        }
        ImportResolution::Missing
    }

    /// Returns `true` if a `paths` pattern in `tsconfig.json` maps the specifier into the project.
    fn is_path_alias(&self, from: &str, specifier: &str) -> bool {
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

    /// Returns the file of a workspace member that is not linked into `node_modules`.
    ///
    /// The specifier is resolved from inside the member's folder, because a package may import itself by name.
    fn find_member_file(
        &self,
        files: &ProjectFiles,
        folder: &str,
        language: Language,
        specifier: &str,
        rest: &str,
    ) -> Option<String> {
        let inside = child_path(folder, "package.json");
        match self.find_path(&inside, language, specifier) {
            Ok(path) => return files.find_file(&path),
            Err(ResolveError::PackagePathNotExported { .. }) => return None,
            Err(_) => {}
        }
        let named = self.find_path(&inside, language, &format!("./{rest}")).ok();
        named
            .and_then(|path| files.find_file(&path))
            .or_else(|| find_unbuilt_source(files, folder, rest))
    }

    /// Resolves a specifier to a path relative to the root.
    fn find_path(
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
            Err(error) if is_config_error(&error) => self.own_config.resolve_file(&file, specifier),
            found => found,
        };
        let found = match found {
            Err(error) if is_config_error(&error) => {
                self.without_config.resolve_file(&file, specifier)
            }
            found => found,
        };
        let path = found?.into_path_buf();
        let inside = path.strip_prefix(ROOT).ok().and_then(|path| path.to_str());
        inside.map(str::to_owned).ok_or_else(|| ResolveError::NotFound(specifier.to_owned()))
    }
}

fn is_config_error(error: &ResolveError) -> bool {
    matches!(error, ResolveError::TsconfigLoadFailed { .. } | ResolveError::TsconfigNotFound(_))
}

fn resolve_options(language: Language) -> ResolveOptions {
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
        // The guard resolves links once, for the resolved file.
        symlinks: false,
        node_path: false,
        ..ResolveOptions::default()
    }
}

/// Returns the source file of a package entry that has not been built, from conventional source locations.
fn find_unbuilt_source(files: &ProjectFiles, folder: &str, rest: &str) -> Option<String> {
    let stems = match rest {
        "" => vec!["src/index", "index", "src/main", "main", "lib/index"],
        rest => vec![rest],
    };
    let endings = ["", ".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts"];
    let mut candidates = Vec::new();
    for stem in stems {
        for base in [
            stem.to_owned(),
            format!("src/{stem}"),
            format!("{stem}/index"),
            format!("src/{stem}/index"),
        ] {
            candidates.extend(endings.iter().map(|ending| format!("{base}{ending}")));
        }
    }
    candidates.iter().find_map(|path| files.find_file(&child_path(folder, path)))
}
