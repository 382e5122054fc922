//! The documents `context://…`: the project, its modules and its sessions as Markdown.
//!
//! ```text
//! context://project/overview            what the project is, what it has decided, what people work on
//! context://module/{name}               a module's files by role, its discoveries, what it depends on
//! context://session/current             what the caller did so far
//! context://sessions/recent{?limit}     what everybody did lately
//! ```
//!
//! What is told of files comes through [`Facts`], which the index implements; sessions come from [`Sessions`]. Each page
//! is bounded (`page.rs`) and says what it left out. Everything in it is data: on one line, hidden characters visible.

mod address;
mod module;
mod overview;
mod page;
mod session;

use std::sync::Arc;
use std::time::Duration;

use contract::{
    CallContext, Code, Constraints, Resource, ResourceContent, ResourceTemplate, Resources,
    ToolError,
};

use self::address::Address;
pub(crate) use self::page::MAX_BYTES;
use crate::Status;
use crate::discover::Discovery;
use crate::sessions::Sessions;

const MARKDOWN: &str = "text/markdown";
/// Names in an error: enough to pick one, not a page of its own.
const MAX_NAMES: usize = 50;

/// A file as the documents show it.
#[derive(Clone, Debug)]
pub(crate) struct FileFact {
    pub(crate) path: String,
    pub(crate) language: Option<Arc<str>>,
    pub(crate) role: source::Role,
    pub(crate) module: Option<Arc<str>>,
}

/// What the documents need to know of a project.
pub(crate) trait Facts: Send + Sync + 'static {
    /// What the project is called.
    fn name(&self) -> String;

    fn status(&self) -> Status;

    /// Takes in what changed before the question was asked, within bounds.
    fn refresh(&self, ctx: &CallContext);

    /// All files that are known, in any order.
    fn files(&self) -> Vec<FileFact>;

    /// All discoveries, from every source, in any order.
    fn discoveries(&self) -> Vec<Discovery>;

    /// The files of the project that these import, each as often as it is imported.
    fn imports(&self, paths: &[&str], ctx: &CallContext) -> Vec<String>;
}

/// The documents of one project.
pub(crate) struct Documents {
    facts: Arc<dyn Facts>,
    sessions: Arc<Sessions>,
}

impl Documents {
    pub(crate) fn new(facts: Arc<dyn Facts>, sessions: Arc<Sessions>) -> Self {
        Self { facts, sessions }
    }

    /// The names of the modules that have files or discoveries, in order.
    fn modules(&self) -> Vec<String> {
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

    fn unknown_module(&self, name: &str) -> ToolError {
        let known = self.modules();
        let name = guard::shown(name);
        let told = match known.len() {
            0 => "this project has no modules that are known yet".to_owned(),
            n => {
                let names: Vec<_> = known
                    .iter()
                    .take(MAX_NAMES)
                    .map(|name| format!("`{}`", guard::shown(name)))
                    .collect();
                let more = if n > MAX_NAMES {
                    format!(" and {} more", n - MAX_NAMES)
                } else {
                    String::new()
                };
                format!("the known modules are {}{more}", names.join(", "))
            }
        };
        ToolError::new(Code::InvalidInput, format!("there is no module `{name}`; {told}"))
            .with("module", name)
            .with("known", known.into_iter().take(MAX_NAMES).collect::<Vec<_>>())
    }
}

impl Resources for Documents {
    fn list(&self) -> Vec<Resource> {
        let resource = |address: Address, name: &str, title: &str, description: &str| Resource {
            uri: address.to_string(),
            name: name.into(),
            title: Some(title.into()),
            description: description.into(),
            mime_type: MARKDOWN.into(),
        };
        vec![
            resource(
                Address::Overview,
                "project-overview",
                "Project overview",
                "What this project is: languages, modules, entry points, recent decisions and rules, the files that are \
                 read most, and how far the index has come. Read it first.",
            ),
            resource(
                Address::Current,
                "current-session",
                "This session",
                "What you searched for and read in this session, and what was found out meanwhile.",
            ),
            resource(
                Address::recent(),
                "recent-sessions",
                "Recent sessions",
                "What was searched for and read in the last sessions of all clients of this project.",
            ),
        ]
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        let template = |uri: &str, name: &str, title: &str, description: &str| ResourceTemplate {
            uri_template: uri.into(),
            name: name.into(),
            title: Some(title.into()),
            description: description.into(),
            mime_type: MARKDOWN.into(),
        };
        vec![
            template(
                address::MODULE_TEMPLATE,
                "module",
                "A module",
                "A module's files by role, its discoveries, and the modules it depends on. The overview lists the names.",
            ),
            template(
                address::RECENT_TEMPLATE,
                "sessions",
                "The last n sessions",
                "What was searched for and read in the last sessions, newest first; `limit` is 1 to 50, 10 by default.",
            ),
        ]
    }

    fn constraints(&self) -> Constraints {
        Constraints {
            access: "what the index knows of this project, and its sessions".into(),
            timeout: Duration::from_secs(5),
            // JSON escapes may double what a page holds.
            max_output_bytes: 4 * MAX_BYTES,
            ..Constraints::default()
        }
    }

    fn read(&self, uri: &str, ctx: &CallContext) -> Result<ResourceContent, ToolError> {
        let address = Address::parse(uri)?;
        let facts = &*self.facts;
        let text = match &address {
            Address::Overview => {
                facts.refresh(ctx);
                overview::page(facts, &self.sessions)
            }
            Address::Module(name) => {
                facts.refresh(ctx);
                module::page(facts, name, ctx)?.ok_or_else(|| self.unknown_module(name))?
            }
            Address::Current => session::current(facts, &self.sessions, &ctx.caller),
            Address::Recent(limit) => session::recent(facts, &self.sessions, *limit),
        };
        Ok(ResourceContent::text(uri, MARKDOWN, text))
    }

    fn complete(&self, template: &str, variable: &str, typed: &str) -> Vec<String> {
        if template != address::MODULE_TEMPLATE || variable != "name" {
            return Vec::new();
        }
        let mut names = self.modules();
        names.retain(|name| name.starts_with(typed));
        names
    }
}

#[cfg(test)]
mod tests;
