//! The source files of one crate and their mutants.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Expr, Item, Lit, Meta};

use crate::cfg::is_compiled;
use crate::constants::Constants;
use crate::edit::{FileEdits, NewMutant};
use crate::find::MutantFinder;

/// One source file with its mutants.
pub(crate) struct SourceFile {
    pub(crate) crate_name: String,
    /// Path from the workspace root.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The text without its tests.
    pub(crate) code: String,
    pub(crate) edits: FileEdits,
}

/// Returns the files of a crate that are compiled into its library, with their mutants.
pub(crate) fn read_crate(root: &Path, name: &str) -> Result<Vec<SourceFile>> {
    let mut parsed = Vec::new();
    let main = root.join("crates").join(name).join("src/lib.rs");
    read_module(root, &main, &mut parsed)?;

    let mut constants = Constants::default();
    for (path, _, syntax) in &parsed {
        constants.add_file(path, syntax);
    }
    let mut files = Vec::new();
    for (path, text, syntax) in &parsed {
        let mut edits = FileEdits::default();
        for constant in constants.defined_in(path) {
            let mutant = edits.add(NewMutant {
                crate_name: name,
                file: path,
                function: &format!("const {}", constant.name),
                mutation: format!("{} is one larger", constant.name),
                line: constant.line,
                range: 0..0,
                function_range: 0..0,
            });
            constants.set_mutant(&constant, mutant);
        }
        let (path, text) = (path.clone(), text.clone());
        let code = without_tests(&text, syntax);
        files.push(SourceFile { crate_name: name.to_owned(), path, text, code, edits });
    }
    for (file, (path, text, syntax)) in files.iter_mut().zip(&parsed) {
        let mut finder = MutantFinder::new(name, path, text, &constants);
        finder.edits = std::mem::take(&mut file.edits);
        finder.visit_file(syntax);
        file.edits = finder.edits;
    }
    // A constant that only constants use has no switch.
    let used: HashSet<u64> = files.iter().flat_map(|file| file.edits.switched()).collect();
    for file in &mut files {
        file.edits.mutants.retain(|mutant| used.contains(&mutant.id));
    }
    Ok(files)
}

/// Returns the text of a file without items that are not compiled into the library, such as tests.
fn without_tests(text: &str, syntax: &syn::File) -> String {
    let mut code = String::new();
    let mut position = 0;
    for item in &syntax.items {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => continue,
        };
        if !is_compiled(attributes) {
            let range = item.span().byte_range();
            code.push_str(&text[position..range.start]);
            position = range.end;
        }
    }
    code.push_str(&text[position..]);
    code
}

type ParsedFile = (String, String, syn::File);

fn read_module(root: &Path, path: &Path, parsed: &mut Vec<ParsedFile>) -> Result<()> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("failed to read {}", path.display()))?;
    let syntax =
        syn::parse_file(&text).with_context(|| format!("failed to parse {}", path.display()))?;
    let folder = path.parent().unwrap_or(path);
    let own = match path.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main" | "mod") | None => folder.to_owned(),
        Some(stem) => folder.join(stem),
    };
    let modules = child_modules(&syntax.items, &own, folder);
    let relative = path.strip_prefix(root).unwrap_or(path).display().to_string();
    parsed.push((relative, text, syntax));
    for module in modules {
        read_module(root, &module, parsed)?;
    }
    Ok(())
}

fn child_modules(items: &[Item], own: &Path, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for item in items {
        let Item::Mod(module) = item else { continue };
        if !is_compiled(&module.attrs) {
            continue;
        }
        let name = module.ident.to_string();
        if let Some((_, items)) = &module.content {
            found.extend(child_modules(items, &own.join(&name), folder));
            continue;
        }
        let explicit = module.attrs.iter().find_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Str(path) => Some(folder.join(path.value())),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        });
        let flat = own.join(format!("{name}.rs"));
        let nested = own.join(&name).join("mod.rs");
        found.push(explicit.unwrap_or(if flat.is_file() { flat } else { nested }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the descriptions of the mutants of a function body, and the text with switches.
    fn mutate(code: &str) -> (Vec<String>, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("crates/x/src/lib.rs");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, code).unwrap();
        let files = read_crate(folder.path(), "x").unwrap();
        let file = &files[0];
        let switched = file.edits.render(&file.text, &HashSet::new()).text;
        syn::parse_file(&switched).unwrap_or_else(|error| panic!("{error}: {switched}"));
        let mutants = file.edits.mutants.iter();
        (mutants.map(|m| format!("{}: {}", m.function, m.mutation)).collect(), switched)
    }

    #[test]
    fn finds_mutants_of_conditions() {
        let (mutants, switched) = mutate("fn f(a: u8) -> Self { if a < 3 && g(a) { h()?; } a }");
        assert_eq!(
            mutants,
            [
                "f: `a < 3 && g(a)` is always true",
                "f: `a < 3 && g(a)` is always false",
                "f: `a < 3` is always true",
                "f: < becomes <= in `a < 3`",
                "f: `g(a)` is always true",
                "f: delete `h()?;`",
            ]
        );
        assert!(switched.contains("(match (&(a ), &( 3)) { (mutant_left"), "{switched}");
    }

    #[test]
    fn leaves_bindings_of_a_condition_usable() {
        let (mutants, switched) = mutate("fn f() { if let Some(a) = g() && a > 1 { h(a) } }");
        assert_eq!(
            mutants,
            [
                "f: return ()",
                "f: `let Some(a) = g() && a > 1` is always false",
                "f: `a > 1` is always true",
                "f: > becomes >= in `a > 1`",
            ]
        );
        assert!(switched.contains(") && let Some(a) = g() && (::mutant_switch::on("), "{switched}");
    }

    #[test]
    fn finds_mutants_of_arms_steps_limits_and_constants() {
        let code = "
            const MAX: usize = 3;
            const fn skipped(a: bool) -> bool { !a }
            #[cfg(test)] mod tests { fn skipped() { h(); } }
            impl A { fn f(&self) -> io::Result<()> {
                match self.x { 1 => a(), 2 if b() => c(), _ => d() }
                timeout(LIMIT, self.read(x.len().min(MAX))).await?;
                timeout_at(end, run).await?;
                let _ = self.file.sync_data();
                self.file.sync_all()
            } }";
        let (mutants, _) = mutate(code);
        assert_eq!(
            mutants,
            [
                "const MAX: MAX is one larger",
                "A::f: return Ok(())",
                "A::f: delete `self.file.sync_all()`",
                "A::f: delete the arm `1`",
                "A::f: `b()` is always true",
                "A::f: `b()` is always false",
                "A::f: delete `timeout(LIMIT, self.read(x.len().min(MAX))).await?;`",
                "A::f: remove the time limit `LIMIT`",
                "A::f: remove .min() of `x.len().min(MAX)`",
                "A::f: delete `timeout_at(end, run).await?;`",
                "A::f: remove the time limit `end`",
                "A::f: delete `let _ = self.file.sync_data();`",
            ]
        );
    }

    #[test]
    fn numbers_equal_mutants_of_a_function() {
        let (mutants, _) = mutate("fn f() -> Self { a(); a(); }");
        assert_eq!(mutants, ["f: delete `a();`", "f: delete `a();` #2"]);
    }

    #[test]
    fn leaves_unused_values_alone() {
        let (mutants, _) =
            mutate("fn f() -> Self { a.insert(1); _ = a.insert(2); b(a.insert(3)) }");
        let expected =
            ["delete `a.insert(1);`", "delete `_ = a.insert(2);`", "negate `a.insert(3)`"];
        assert_eq!(mutants, expected.map(|mutant| format!("f: {mutant}")));
    }
}
