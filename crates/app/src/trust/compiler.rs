//! The digest of a compiler that a project contains: the npm package `solc` and everything that it loads.
//!
//! Node.js finds the dependencies of a package in the `node_modules` of any folder above it, so they count too.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use contract::sha256_digest;

use super::file_access::read_contained_file_up_to;

/// Maximum number of files. The package and its dependencies have a few hundred.
const MAX_FILES: usize = 20_000;
/// Maximum size of one file. The compiler itself has about 30 MB.
const MAX_FILE_BYTES: u64 = 256 << 20;
/// Maximum length of a package name, as npm has it.
const MAX_PACKAGE_NAME: usize = 214;
/// Endings that Node.js adds to the name of a package before it looks for a folder.
const FILE_ENDINGS: [&str; 4] = ["", ".js", ".json", ".node"];

/// Returns the digest of the package in a folder, with its dependencies.
pub(super) fn digest_package(package: &Path) -> io::Result<String> {
    let mut digests = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![package.to_owned()];
    while let Some(package) = open.pop() {
        let real = package.canonicalize()?;
        if !seen.insert(real.clone()) {
            continue;
        }
        let content = digest_folder(&real, &mut digests)?;
        let declared = dependency_names(&content.manifest);
        for name in declared.into_iter().chain(content.loaded).collect::<BTreeSet<_>>() {
            open.extend(find_dependency(&real, &name)?);
        }
    }
    let lines = digests.iter().map(|(path, digest)| format!("{digest} {}\n", path.display()));
    Ok(sha256_digest(lines.collect::<String>().as_bytes()))
}

/// What the files of a package say about other packages.
#[derive(Default)]
struct PackageContent {
    /// Text of `package.json`.
    manifest: String,
    /// Names of the packages that its scripts load.
    loaded: BTreeSet<String>,
}

/// Adds the digests of all files below a folder.
fn digest_folder(
    folder: &Path,
    digests: &mut BTreeMap<PathBuf, String>,
) -> io::Result<PackageContent> {
    let mut content = PackageContent::default();
    let mut open = vec![folder.to_owned()];
    while let Some(current) = open.pop() {
        for entry in std::fs::read_dir(&current)? {
            let path = entry?.path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
                continue;
            }
            if digests.len() >= MAX_FILES {
                return Err(io::Error::other(format!("more than {MAX_FILES} files")));
            }
            // A link that leaves the package is followed by Node.js, so its content would not be covered.
            let file = read_contained_file_up_to(folder, &path, MAX_FILE_BYTES)?;
            let bytes = file.map(|file| file.bytes).unwrap_or_default();
            if path == folder.join("package.json") {
                content.manifest = String::from_utf8_lossy(&bytes).into_owned();
            }
            let is_script =
                path.extension().is_none_or(|it| it == "js" || it == "cjs" || it == "mjs");
            if is_script {
                content.loaded.extend(loaded_packages(&String::from_utf8_lossy(&bytes)));
            }
            digests.insert(path, sha256_digest(&bytes));
        }
    }
    Ok(content)
}

/// Returns the packages that a script loads by name, declared or not. A name that the script computes is not found.
fn loaded_packages(script: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "@/._-".contains(c);
    let find = |word: &'static str| {
        script.match_indices(word).filter_map(move |(at, _)| {
            let rest = script[at + word.len()..].trim_start().trim_start_matches('(').trim_start();
            let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
            let name = rest[1..].split(quote).next()?;
            let is_package = !name.starts_with(['.', '/']) && name.chars().all(is_name);
            let parts = if name.starts_with('@') { 2 } else { 1 };
            is_package.then(|| name.split('/').take(parts).collect::<Vec<_>>().join("/"))
        })
    };
    let words = ["require", "import", "from"];
    words.into_iter().flat_map(find).filter(|name| is_package_name(name)).collect()
}

fn dependency_names(manifest: &str) -> Vec<String> {
    let manifest: serde_json::Value = serde_json::from_str(manifest).unwrap_or_default();
    let tables = ["dependencies", "optionalDependencies", "peerDependencies"];
    let names = tables.iter().filter_map(|table| manifest[table].as_object());
    let names = names.flat_map(|table| table.keys().cloned());
    names.filter(|name| is_package_name(name)).collect()
}

/// Returns true for one folder, or two with a scope; anything else names no package.
fn is_package_name(name: &str) -> bool {
    let is_long = name.len() > MAX_PACKAGE_NAME;
    let mut parts = name.split('/');
    !is_long && name.split('/').count() <= 2 && parts.all(|part| !matches!(part, "" | "." | ".."))
}

/// Returns the folders in which Node.js may find a dependency. It skips a folder that contains no package, so those above
/// count too.
///
/// Errors if a file has the name of the dependency: Node.js prefers it to the folder.
fn find_dependency(package: &Path, name: &str) -> io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for modules in package.ancestors().map(|folder| folder.join("node_modules")) {
        for ending in FILE_ENDINGS {
            let file = modules.join(format!("{name}{ending}"));
            if file.is_dir() || file.symlink_metadata().is_err() {
                continue;
            }
            let why = format!("{} shadows the package `{name}`", file.display());
            return Err(io::Error::other(why));
        }
        folders.extend(Some(modules.join(name)).filter(|folder| folder.is_dir()));
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_covers_package_and_dependencies() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join("node_modules").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("solc/package.json", "{\"dependencies\": {\"semver\": \"1\", \"../../x\": \"1\"}}");
        write("solc/soljson.js", "one");
        write("semver/package.json", "{\"dependencies\": {\"deep\": \"1\"}}");
        write("semver/index.js", "one");
        write("deep/index.js", "one");
        write("unrelated/index.js", "one");
        let digest = || digest_package(&folder.path().join("node_modules/solc")).unwrap();
        let mut known = vec![digest()];
        write("unrelated/index.js", "two");
        assert_eq!(digest(), known[0], "an unrelated package does not count");
        for (path, text) in [
            ("solc/soljson.js", "two"),
            ("semver/index.js", "two"),
            ("deep/index.js", "two"),
            ("solc/more.js", ""),
            ("solc/node_modules/semver/index.js", "shadows the other"),
        ] {
            write(path, text);
            let now = digest();
            assert!(!known.contains(&now), "{path}");
            known.push(now);
        }
    }

    #[test]
    fn digest_covers_packages_that_are_loaded_without_being_declared() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join("node_modules").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let script = "const a = require('one'); var b=require( \"two/deep/file\" )\n\
                      import c from '@scope/three/x'; import\n'four'; await import(`five`);\n\
                      export * from 'six'; try { require('later') } catch {}\n\
                      require('./own'); require('fs'); require('node:path'); require(name + 'x')";
        write("solc/package.json", "{}");
        write("solc/soljson.js", script);
        write("solc/own.cjs", "require('seven')");
        write("solc/README.md", "require('unrelated')");
        let digest = || digest_package(&folder.path().join("node_modules/solc")).unwrap();
        let mut known = vec![digest()];
        write("unrelated/index.js", "require('eight')");
        assert_eq!(digest(), known[0], "documentation loads nothing");
        let names = ["one", "two", "@scope/three", "four", "five", "six", "seven", "later"];
        for name in names {
            for text in ["one", "two"] {
                write(&format!("{name}/index.js"), text);
                let now = digest();
                assert!(!known.contains(&now), "{name} {text}");
                known.push(now);
            }
        }
        std::fs::write(folder.path().join("node_modules/one.js"), "shadows").unwrap();
        digest_package(&folder.path().join("node_modules/solc")).unwrap_err();
    }

    #[test]
    fn file_that_shadows_a_dependency_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("app");
        let write = |path: &str, text: &str| {
            let path = base.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let manifest = "{\"dependencies\": {\"semver\": \"1\", \"@a/b\": \"1\"}}";
        write("node_modules/solc/package.json", manifest);
        write("node_modules/semver/index.js", "");
        write("node_modules/semver.js/index.js", "a folder is another package");
        let digest = || digest_package(&base.join("node_modules/solc"));
        let before = digest().unwrap();
        for path in [
            "node_modules/semver.json",
            "node_modules/semver.node",
            "node_modules/@a/b",
            "node_modules/@a/b.js",
            "node_modules/solc/node_modules/semver",
            "node_modules/solc/node_modules/semver.js",
            "../node_modules/semver.js",
        ] {
            write(path, "run me");
            let error = digest().unwrap_err().to_string();
            assert!(error.contains("shadows the package"), "{path}: {error}");
            std::fs::remove_file(base.join(path)).unwrap();
        }
        std::os::unix::fs::symlink("later.js", base.join("node_modules/semver.node")).unwrap();
        digest().unwrap_err();
        std::fs::remove_file(base.join("node_modules/semver.node")).unwrap();
        // Node.js goes on to the next folder if one contains no package.
        write("../node_modules/semver/index.js", "");
        assert_ne!(digest().unwrap(), before);
    }
}
