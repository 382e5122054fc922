//! Resolves every import below a folder and writes one JSON object per file: `imports ROOT`.
//!
//! The tests in `e2e/imports` compare the output with the native tools of each language.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::{env, fs};

use guard::{DenyList, Guard};
use serde_json::{Value, json};
use source::{Import, ImportResolution, ImportResolver, Language, extract_imports};

fn main() -> io::Result<()> {
    let root = env::args().nth(1).ok_or(io::ErrorKind::InvalidInput)?;
    let root = Path::new(&root);
    let resolver = ImportResolver::new(Arc::new(Guard::new(root, DenyList::default())?));
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() && !path.is_symlink() {
            let mut inside: Vec<_> =
                fs::read_dir(&path)?.flatten().map(|entry| entry.path()).collect();
            inside.sort();
            open.extend(inside.into_iter().rev().filter(|path| !path.ends_with("node_modules")));
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let Some(file) = path.strip_prefix(root).ok().and_then(Path::to_str) else { continue };
        let Some(language) =
            Language::detect(file, &text).filter(|language| language.has_imports())
        else {
            continue;
        };
        let found = extract_imports(language, &text);
        let imports: Vec<Value> = found
            .imports
            .iter()
            .map(|import| describe(import, &resolver.resolve(file, language, import)))
            .collect();
        let stopped = found.stopped.map(|stopped| stopped.line);
        writeln!(out, "{}", json!({"file": file, "imports": imports, "stopped": stopped}))?;
    }
    out.flush()
}

fn describe(import: &Import, resolution: &ImportResolution) -> Value {
    let mut value = serde_json::to_value(import).unwrap_or_default();
    match resolution {
        ImportResolution::Files(files) => value["files"] = json!(files),
        ImportResolution::External(name) => value["external"] = json!(name),
        ImportResolution::Missing => {}
    }
    value
}
