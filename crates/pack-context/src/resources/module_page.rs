//! Renders `context://module/{name}`.

use std::collections::{BTreeMap, HashMap};

use contract::{CallContext, ToolError};
use source::FileRole;

use super::markdown_page::{self, MarkdownPage, format_code, format_count};
use super::overview_page::sort_newest_first;
use super::{FileFact, ProjectFacts};

/// Maximum files listed per role.
const MAX_FILES: usize = 80;
const MAX_DISCOVERIES: usize = 40;
const MAX_MODULES: usize = 40;
/// Maximum files whose imports are read.
const MAX_IMPORTERS: usize = 200;

/// Returns the page of a module, or `None` if the module is unknown.
pub(super) fn render_module_page(
    facts: &dyn ProjectFacts,
    name: &str,
    ctx: &CallContext,
) -> Result<Option<String>, ToolError> {
    let all = facts.files();
    let mut files: Vec<&FileFact> =
        all.iter().filter(|file| file.module.as_deref() == Some(name)).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let discoveries = facts.discoveries();
    let found =
        sort_newest_first(discoveries.iter().filter(|found| found.module.as_deref() == Some(name)));
    if files.is_empty() && found.is_empty() {
        return Ok(None);
    }

    let mut page = MarkdownPage::new(&format!("Module {name}"));
    let roles =
        FileRole::ALL.map(|role| (role, files.iter().filter(|file| file.role == role).count()));
    let roles: Vec<_> =
        roles.iter().filter(|(_, n)| *n > 0).map(|(role, n)| format!("{n} {role}")).collect();
    page.push_paragraph(&format!(
        "{}{}; {}.",
        format_count(files.len(), "file", "files"),
        if roles.is_empty() { String::new() } else { format!(" ({})", roles.join(", ")) },
        format_count(found.len(), "discovery", "discoveries")
    ));
    page.push_list(
        "Discoveries",
        found.len(),
        found.iter().take(MAX_DISCOVERIES).map(|found| markdown_page::format_discovery(found)),
    );
    push_dependencies(&mut page, facts, name, &all, &files, ctx)?;
    for role in FileRole::ALL {
        let title = match role {
            FileRole::Entry => "Entry points",
            FileRole::Core => "Core",
            FileRole::Test => "Tests",
            FileRole::Config => "Configuration",
            FileRole::Docs => "Documentation",
            FileRole::Generated => "Generated",
        };
        let of_role: Vec<_> = files.iter().filter(|file| file.role == role).collect();
        page.push_list(
            title,
            of_role.len(),
            of_role.iter().take(MAX_FILES).map(|file| format_code(&file.path)),
        );
    }
    Ok(Some(page.finish()))
}

/// Adds the list of modules that the files of this module import.
fn push_dependencies(
    page: &mut MarkdownPage,
    facts: &dyn ProjectFacts,
    name: &str,
    all: &[FileFact],
    files: &[&FileFact],
    ctx: &CallContext,
) -> Result<(), ToolError> {
    let module_of: HashMap<&str, &str> =
        all.iter().filter_map(|file| Some((file.path.as_str(), file.module.as_deref()?))).collect();
    let importers =
        files.iter().filter(|file| matches!(file.role, FileRole::Entry | FileRole::Core));
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
    page.push_list(
        "Depends on",
        imported.len(),
        shown.map(|(module, n)| {
            format!("{}: {}", format_code(module), format_count(*n, "import", "imports"))
        }),
    );
    Ok(())
}
