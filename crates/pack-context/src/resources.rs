//! The `context://…` resources: the project, its modules and its sessions as Markdown.
//!
//! ```text
//! context://project/overview            languages, modules, decisions and most-read files of the project
//! context://module/{name}               files by role, discoveries and dependencies of a module
//! context://session/current             searches and reads of the caller's session
//! context://sessions/recent{?limit}     recent sessions of the caller's principal
//! ```
//!
//! File information comes from [`ProjectFacts`], which the index implements; sessions come from [`SessionTracker`].
//! Each page is bounded (`markdown_page.rs`) and reports omitted items. Project text is inserted as data: on one line,
//! with hidden characters escaped.

mod markdown_page;
mod module_page;
mod overview_page;
mod session_pages;
mod uri;

use std::sync::Arc;
use std::time::Duration;

use contract::{
    CallContext, Constraints, ErrorCode, Resource, ResourceContent, ResourceProvider,
    ResourceTemplate, ToolError,
};

pub(crate) use self::markdown_page::MAX_BYTES;
use self::uri::ContextUri;
use crate::IndexStatus;
use crate::discover::Discovery;
use crate::sessions::SessionTracker;

const MARKDOWN: &str = "text/markdown";
/// Maximum module names listed in an error.
const MAX_NAMES: usize = 50;

/// A file as shown in the resources.
#[derive(Clone, Debug)]
pub(crate) struct FileFact {
    pub(crate) path: String,
    pub(crate) language: Option<Arc<str>>,
    pub(crate) role: source::FileRole,
    pub(crate) module: Option<Arc<str>>,
}

/// Project information that the resources need.
pub(crate) trait ProjectFacts: Send + Sync + 'static {
    /// Returns the name of the project.
    fn name(&self) -> String;

    fn status(&self) -> IndexStatus;

    /// Applies changes made before the call, within bounds.
    fn refresh(&self, ctx: &CallContext);

    /// Returns all known files, in any order.
    fn files(&self) -> Vec<FileFact>;

    /// Returns all discoveries from every source, in any order.
    fn discoveries(&self) -> Vec<Discovery>;

    /// Returns the project files that `paths` import, each as often as it is imported.
    fn imports(&self, paths: &[&str], ctx: &CallContext) -> Vec<String>;
}

/// The resources of one project.
pub(crate) struct ContextResources {
    facts: Arc<dyn ProjectFacts>,
    sessions: Arc<SessionTracker>,
}

impl ContextResources {
    pub(crate) fn new(facts: Arc<dyn ProjectFacts>, sessions: Arc<SessionTracker>) -> Self {
        Self { facts, sessions }
    }

    /// Returns the sorted names of the modules that have files or discoveries.
    fn module_names(&self) -> Vec<String> {
        let files = self.facts.files();
        let mut names: Vec<String> = files
            .into_iter()
            .filter_map(|file| file.module)
            .map(|module| module.to_string())
            .collect();
        names.extend(self.facts.discoveries().into_iter().filter_map(|discovery| discovery.module));
        names.sort();
        names.dedup();
        names
    }

    fn unknown_module_error(&self, name: &str) -> ToolError {
        let known = self.module_names();
        let name = guard::display_path(name);
        let available = match known.len() {
            0 => "no modules are known yet".to_owned(),
            n => {
                let names: Vec<_> = known
                    .iter()
                    .take(MAX_NAMES)
                    .map(|name| format!("`{}`", guard::display_path(name)))
                    .collect();
                let more = if n > MAX_NAMES {
                    format!(" and {} more", n - MAX_NAMES)
                } else {
                    String::new()
                };
                format!("known modules: {}{more}", names.join(", "))
            }
        };
        ToolError::new(ErrorCode::InvalidInput, format!("unknown module `{name}`; {available}"))
            .with_detail("module", name)
            .with_detail("known", known.into_iter().take(MAX_NAMES).collect::<Vec<_>>())
    }
}

impl ResourceProvider for ContextResources {
    fn list_resources(&self) -> Vec<Resource> {
        let resource = |address: ContextUri, name: &str, title: &str, description: &str| Resource {
            uri: address.to_string(),
            name: name.into(),
            title: Some(title.into()),
            description: description.into(),
            mime_type: MARKDOWN.into(),
        };
        vec![
            resource(
                ContextUri::Overview,
                "project-overview",
                "Project overview",
                "Languages, modules, entry points, recent decisions and rules, most-read files and index progress of \
                 this project. Read it first.",
            ),
            resource(
                ContextUri::CurrentSession,
                "current-session",
                "This session",
                "Searches and file reads of this session, and discoveries made during it.",
            ),
            resource(
                ContextUri::default_recent(),
                "recent-sessions",
                "Recent sessions",
                "Searches and file reads of your most recent sessions in this project.",
            ),
        ]
    }

    fn list_templates(&self) -> Vec<ResourceTemplate> {
        let template = |uri: &str, name: &str, title: &str, description: &str| ResourceTemplate {
            uri_template: uri.into(),
            name: name.into(),
            title: Some(title.into()),
            description: description.into(),
            mime_type: MARKDOWN.into(),
        };
        vec![
            template(
                uri::MODULE_TEMPLATE,
                "module",
                "Module",
                "Files by role, discoveries and dependencies of a module. The project overview lists the module names.",
            ),
            template(
                uri::RECENT_TEMPLATE,
                "sessions",
                "Recent sessions, limited",
                "Searches and file reads of your most recent sessions, newest first. `limit` is 1 to 50 (default 10).",
            ),
        ]
    }

    fn constraints(&self) -> Constraints {
        Constraints {
            access: "indexed data and sessions of this project".into(),
            timeout: Duration::from_secs(5),
            // JSON escapes may double the size of a page.
            max_output_bytes: 4 * MAX_BYTES,
            ..Constraints::default()
        }
    }

    fn read_resource(&self, uri: &str, ctx: &CallContext) -> Result<ResourceContent, ToolError> {
        let address = ContextUri::parse(uri)?;
        let facts = &*self.facts;
        let text = match &address {
            ContextUri::Overview => {
                facts.refresh(ctx);
                overview_page::render_overview_page(facts, &self.sessions)
            }
            ContextUri::Module(name) => {
                facts.refresh(ctx);
                module_page::render_module_page(facts, name, ctx)?
                    .ok_or_else(|| self.unknown_module_error(name))?
            }
            ContextUri::CurrentSession => {
                session_pages::render_current_session(facts, &self.sessions, &ctx.caller)
            }
            ContextUri::RecentSessions(limit) => {
                session_pages::render_recent_sessions(facts, &self.sessions, &ctx.caller, *limit)
            }
        };
        Ok(ResourceContent::from_text(uri, MARKDOWN, text))
    }

    fn complete_variable(&self, template: &str, variable: &str, typed: &str) -> Vec<String> {
        if template != uri::MODULE_TEMPLATE || variable != "name" {
            return Vec::new();
        }
        let mut names = self.module_names();
        names.retain(|name| name.starts_with(typed));
        names
    }
}

#[cfg(test)]
mod tests;
