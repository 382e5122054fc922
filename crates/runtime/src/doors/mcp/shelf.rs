//! The listing of tools: written once for each published catalog, and shared by all who ask for it.

use std::sync::{Arc, Weak};

use parking_lot::RwLock;
use rmcp::model::{JsonObject, Tool};

use super::view;
use crate::catalog::Catalog;
use crate::pipeline::Pipeline;
use crate::policy::ToolFilter;

/// The newest listing that somebody asked for.
#[derive(Default)]
pub(super) struct Shelf {
    listing: RwLock<Option<Arc<Listing>>>,
}

pub(super) struct Listing {
    /// Not held: a listing must not keep the tools of a catalog alive that is served no more.
    catalog: Weak<Catalog>,
    /// In the order of the names.
    tools: Vec<Tool>,
}

impl Shelf {
    pub(super) fn listing(&self, pipeline: &Pipeline) -> Arc<Listing> {
        let catalog = pipeline.catalog();
        {
            let known = self.listing.read();
            if let Some(listing) = known.as_ref().filter(|listing| listing.is_of(&catalog)) {
                return Arc::clone(listing);
            }
        }
        // Two who come at once write it twice, which harms nobody.
        let listing = Arc::new(Listing::of(&catalog));
        *self.listing.write() = Some(Arc::clone(&listing));
        listing
    }
}

impl Listing {
    fn of(catalog: &Arc<Catalog>) -> Self {
        let tools = catalog.contracts().map(view::tool).collect();
        Self { catalog: Arc::downgrade(catalog), tools }
    }

    fn is_of(&self, catalog: &Arc<Catalog>) -> bool {
        std::ptr::eq(self.catalog.as_ptr(), Arc::as_ptr(catalog))
    }

    /// What a client may call. Schemas, by far the largest part, are shared.
    pub(super) fn tools(&self, filter: Option<&dyn ToolFilter>) -> Vec<Tool> {
        let is_shown = |tool: &&Tool| filter.is_none_or(|filter| filter.allows(&tool.name));
        self.tools.iter().filter(is_shown).cloned().collect()
    }

    pub(super) fn input_schema(&self, name: &str) -> Option<Arc<JsonObject>> {
        let index = self.tools.binary_search_by(|tool| tool.name.as_ref().cmp(name)).ok()?;
        Some(Arc::clone(&self.tools[index].input_schema))
    }
}
