//! Go: packages of the file's module, of local replacements, and of the workspace.

use super::Resolution;
use super::files::{Files, below, folders_above, join};
use crate::import::Import;

pub(super) fn resolve(files: &Files, from: &str, import: &Import) -> Resolution {
    let path = import.specifier.as_str();
    if path.starts_with("./") || path.starts_with("../") {
        let folder = join(super::files::parent(from), path);
        return package(files, folder);
    }
    let Some(own) = folders_above(from).find_map(|folder| Module::at(files, folder)) else {
        return external(path, &[]);
    };
    let workspace = folders_above(from).find_map(|folder| {
        let text = files.read(&below(folder, "go.work"))?;
        let uses = directive(&text, "use");
        Some(uses.filter_map(|used| join(folder, used)).collect::<Vec<_>>())
    });
    let members = workspace.unwrap_or_default();
    let members = members.iter().filter_map(|folder| Module::at(files, folder));
    let replaced = own.replaced.iter().filter_map(|(name, folder)| {
        Some(Module { name: name.clone(), ..Module::at(files, folder)? })
    });
    let mut modules: Vec<Module> = members.chain(replaced).collect();
    let required = own.required.clone();
    modules.insert(0, own);
    // The longest name that fits: modules can be nested.
    let fitting = modules
        .iter()
        .filter_map(|module| Some((module, rest_of(path, &module.name)?)))
        .max_by_key(|(module, _)| module.name.len());
    match fitting {
        Some((module, rest)) => package(files, join(&module.folder, rest)),
        None => external(path, &required),
    }
}

struct Module {
    name: String,
    folder: String,
    required: Vec<String>,
    /// Names of modules that stand in a folder of the project, with the folder.
    replaced: Vec<(String, String)>,
}

impl Module {
    fn at(files: &Files, folder: &str) -> Option<Self> {
        let text = files.read(&below(folder, "go.mod"))?;
        let name = directive(&text, "module").next()?.trim_matches('"').to_owned();
        let required = directive(&text, "require")
            .filter_map(|line| line.split_whitespace().next())
            .map(str::to_owned)
            .collect();
        let replaced = directive(&text, "replace")
            .filter_map(|line| {
                let (name, target) = line.split_once("=>")?;
                let target = target.trim();
                let local = target.starts_with("./") || target.starts_with("../");
                let folder = join(folder, target).filter(|_| local)?;
                Some((name.split_whitespace().next()?.to_owned(), folder))
            })
            .collect();
        Some(Self { name, folder: folder.to_owned(), required, replaced })
    }
}

/// What a directive of `go.mod` says, alone on a line or in a block.
fn directive<'text>(text: &'text str, name: &'text str) -> impl Iterator<Item = &'text str> {
    let mut block = false;
    text.lines().filter_map(move |line| {
        let line = line.split("//").next().unwrap_or_default().trim();
        if block {
            block = line != ")";
            return (block && !line.is_empty()).then_some(line);
        }
        let rest = line.strip_prefix(name)?;
        let rest = rest.strip_prefix([' ', '\t', '('])?.trim();
        if line.ends_with('(') {
            block = true;
            return None;
        }
        Some(rest)
    })
}

fn rest_of<'path>(path: &'path str, module: &str) -> Option<&'path str> {
    let rest = path.strip_prefix(module)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// All sources of a package, without its tests.
fn package(files: &Files, folder: Option<String>) -> Resolution {
    let Some(folder) = folder else { return Resolution::Missing };
    let names = files.list(&folder);
    let sources = names.iter().filter(|name| name.ends_with(".go") && !name.ends_with("_test.go"));
    Resolution::files(sources.filter_map(|name| files.file(&below(&folder, name))).collect())
}

/// A module as `go.mod` requires it; the standard library has no dot in its first name.
fn external(path: &str, required: &[String]) -> Resolution {
    let module = required
        .iter()
        .filter(|module| rest_of(path, module).is_some())
        .max_by_key(|module| module.len());
    Resolution::External(module.map_or(path, String::as_str).to_owned())
}
