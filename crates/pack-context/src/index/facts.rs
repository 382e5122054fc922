//! Implements the project facts that the `context://` documents are rendered from.

use contract::CallContext;

use super::state::DocumentBody;
use super::{Index, imports, search};
use crate::IndexStatus;
use crate::discover::Discovery;
use crate::resources::{FileFact, ProjectFacts};

impl ProjectFacts for Index {
    fn name(&self) -> String {
        let root = self.core.tree.root();
        root.file_name().map_or_else(|| "project".into(), |name| name.to_string_lossy().into())
    }

    fn status(&self) -> IndexStatus {
        self.status()
    }

    fn refresh(&self, ctx: &CallContext) {
        let _running = self.begin_call();
        self.refresh_for_query("", &|| ctx.is_cancelled());
    }

    fn files(&self) -> Vec<FileFact> {
        let state = self.core.state();
        let files = state.files().map(|(_, source, file)| FileFact {
            path: file.path.to_string(),
            language: file.content.as_ref().and_then(|content| content.language.clone()),
            role: file.purpose,
            module: source.module.clone(),
        });
        files.collect()
    }

    fn discoveries(&self) -> Vec<Discovery> {
        let state = self.core.state();
        let discoveries =
            state.documents().filter_map(|(_, source, document)| match &document.body {
                DocumentBody::Discovery(discovery) => {
                    let module = search::document_module(source, document).map(str::to_owned);
                    Some(Discovery { module, ..(**discovery).clone() })
                }
                DocumentBody::Chunk { .. } | DocumentBody::Session(_) => None,
            });
        discoveries.collect()
    }

    fn imports(&self, paths: &[&str], ctx: &CallContext) -> Vec<String> {
        let resolver = self.records.create_import_resolver();
        let wanted = paths.iter().take_while(|_| !ctx.is_cancelled());
        wanted
            .flat_map(|path| imports::list_imported_files(&resolver, &self.core.tree, path))
            .collect()
    }
}
