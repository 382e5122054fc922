//! `context://module/{name}`.

use std::collections::{BTreeMap, HashMap};

use contract::{CallContext, ToolError};
use source::Role;

use super::overview::newest;
use super::page::{self, Page, code, count};
use super::{Facts, FileFact};

/// For each role.
const MAX_FILES: usize = 80;
const MAX_DISCOVERIES: usize = 40;
const MAX_MODULES: usize = 40;
/// Imports are read of so many files; a module with more is told by its first.
const MAX_IMPORTERS: usize = 200;

/// None where there is no such module.
pub(super) fn page(
    facts: &dyn Facts,
    name: &str,
    ctx: &CallContext,
) -> Result<Option<String>, ToolError> {
    let all = facts.files();
    let mut files: Vec<&FileFact> =
        all.iter().filter(|file| file.module.as_deref() == Some(name)).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let discoveries = facts.discoveries();
    let found = newest(discoveries.iter().filter(|found| found.module.as_deref() == Some(name)));
    if files.is_empty() && found.is_empty() {
        return Ok(None);
    }

    let mut page = Page::new(&format!("Module {name}"));
    let roles = Role::ALL.map(|role| (role, files.iter().filter(|file| file.role == role).count()));
    let roles: Vec<_> =
        roles.iter().filter(|(_, n)| *n > 0).map(|(role, n)| format!("{n} {role}")).collect();
    page.say(&format!(
        "{}{}; {}.",
        count(files.len(), "file", "files"),
        if roles.is_empty() { String::new() } else { format!(" ({})", roles.join(", ")) },
        count(found.len(), "discovery", "discoveries")
    ));
    page.list(
        "Discoveries",
        found.len(),
        found.iter().take(MAX_DISCOVERIES).map(|found| page::discovery(found)),
    );
    dependencies(&mut page, facts, name, &all, &files, ctx)?;
    for role in Role::ALL {
        let title = match role {
            Role::Entry => "Entry points",
            Role::Core => "Core",
            Role::Test => "Tests",
            Role::Config => "Configuration",
            Role::Docs => "Documentation",
            Role::Generated => "Generated",
        };
        let of_role: Vec<_> = files.iter().filter(|file| file.role == role).collect();
        page.list(
            title,
            of_role.len(),
            of_role.iter().take(MAX_FILES).map(|file| code(&file.path)),
        );
    }
    Ok(Some(page.finish()))
}

/// The modules whose files this one's files import.
fn dependencies(
    page: &mut Page,
    facts: &dyn Facts,
    name: &str,
    all: &[FileFact],
    files: &[&FileFact],
    ctx: &CallContext,
) -> Result<(), ToolError> {
    let module_of: HashMap<&str, &str> =
        all.iter().filter_map(|file| Some((file.path.as_str(), file.module.as_deref()?))).collect();
    let importers = files.iter().filter(|file| matches!(file.role, Role::Entry | Role::Core));
    let importers: Vec<_> = importers.map(|file| file.path.as_str()).take(MAX_IMPORTERS).collect();
    let paths = facts.imports(&importers, ctx);
    ctx.check_cancelled()?;
    let mut imported: BTreeMap<&str, usize> = BTreeMap::new();
    for path in &paths {
        if let Some(module) = module_of.get(path.as_str()).filter(|module| **module != name) {
            *imported.entry(module).or_default() += 1;
        }
    }
    let mut imported: Vec<_> = imported.into_iter().collect();
    imported.sort_by_key(|(module, n)| (std::cmp::Reverse(*n), *module));
    let shown = imported.iter().take(MAX_MODULES);
    page.list(
        "Depends on",
        imported.len(),
        shown.map(|(module, n)| format!("{}: {}", code(module), count(*n, "import", "imports"))),
    );
    Ok(())
}
