//! What others ask the index: the documents about the project, and the tool that reads a file.

use contract::CallContext;

use super::state::Body;
use super::{Index, neighbours, search};
use crate::Status;
use crate::discover::Discovery;
use crate::resources::{Facts, FileFact};

impl Facts for Index {
    fn name(&self) -> String {
        let root = self.core.tree.root();
        root.file_name().map_or_else(|| "project".into(), |name| name.to_string_lossy().into())
    }

    fn status(&self) -> Status {
        self.status()
    }

    fn refresh(&self, ctx: &CallContext) {
        let _running = self.call();
        self.refresh("", &|| ctx.is_cancelled());
    }

    fn files(&self) -> Vec<FileFact> {
        let state = self.core.state();
        let files = state.files().map(|(_, source, file)| FileFact {
            path: file.path.to_string(),
            language: file.known.as_ref().and_then(|known| known.language.clone()),
            role: file.purpose,
            module: source.module.clone(),
        });
        files.collect()
    }

    fn discoveries(&self) -> Vec<Discovery> {
        let state = self.core.state();
        let discoveries =
            state.documents().filter_map(|(_, source, document)| match &document.body {
                Body::Discovery(discovery) => {
                    let module = search::module_of(source, document).map(str::to_owned);
                    Some(Discovery { module, ..(**discovery).clone() })
                }
                Body::Piece { .. } | Body::Session(_) => None,
            });
        discoveries.collect()
    }

    fn imports(&self, paths: &[&str], ctx: &CallContext) -> Vec<String> {
        let resolver = self.records.resolver();
        let wanted = paths.iter().take_while(|_| !ctx.is_cancelled());
        wanted.flat_map(|path| neighbours::of(&resolver, &self.core.tree, path)).collect()
    }
}
