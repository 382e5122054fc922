//! The tool listing: built once for each published catalog and shared by all requests.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use parking_lot::RwLock;
use rmcp::model::{JsonObject, Tool};
use serde_json::Value;

use super::convert;
use crate::catalog::Catalog;
use crate::pipeline::Pipeline;
use crate::policy::ToolFilter;

/// Caches the most recent listing.
#[derive(Default)]
pub(super) struct ListingCache {
    listing: RwLock<Option<Arc<ToolListing>>>,
}

/// The tools of one catalog in the SDK's types.
pub(super) struct ToolListing {
    /// Weak, because a listing must not keep the tools of a replaced catalog alive.
    catalog: Weak<Catalog>,
    /// Sorted by name.
    tools: Vec<Tool>,
    /// The names of tools with arguments that clients may have to repeat in headers.
    with_header_arguments: HashSet<String>,
}

impl ListingCache {
    /// Returns the listing of the served catalog.
    pub(super) fn get_or_build(&self, pipeline: &Pipeline) -> Arc<ToolListing> {
        let catalog = pipeline.catalog();
        {
            let known = self.listing.read();
            if let Some(listing) = known.as_ref().filter(|listing| listing.is_from(&catalog)) {
                return Arc::clone(listing);
            }
        }
        // Concurrent requests may build it twice, which is harmless.
        let listing = Arc::new(ToolListing::from_catalog(&catalog));
        *self.listing.write() = Some(Arc::clone(&listing));
        listing
    }
}

impl ToolListing {
    fn from_catalog(catalog: &Arc<Catalog>) -> Self {
        let tools: Vec<_> = catalog.contracts().map(convert::to_mcp_tool).collect();
        let annotated = tools.iter().filter(|tool| {
            tool.input_schema.iter().any(|(key, value)| is_annotation(key) || is_annotated(value))
        });
        let with_header_arguments = annotated.map(|tool| tool.name.to_string()).collect();
        Self { catalog: Arc::downgrade(catalog), tools, with_header_arguments }
    }

    fn is_from(&self, catalog: &Arc<Catalog>) -> bool {
        std::ptr::eq(self.catalog.as_ptr(), Arc::as_ptr(catalog))
    }

    /// Returns the tools that a client may call. Schemas, by far the largest part, are shared.
    pub(super) fn allowed_tools(&self, filter: Option<&dyn ToolFilter>) -> Vec<Tool> {
        let is_shown = |tool: &&Tool| filter.is_none_or(|filter| filter.allows(&tool.name));
        self.tools.iter().filter(is_shown).cloned().collect()
    }

    pub(super) fn input_schema(&self, name: &str) -> Option<Arc<JsonObject>> {
        let index = self.tools.binary_search_by(|tool| tool.name.as_ref().cmp(name)).ok()?;
        Some(Arc::clone(&self.tools[index].input_schema))
    }

    /// Returns true if the schema of the tool has an annotation for headers anywhere.
    pub(super) fn has_header_arguments(&self, name: &str) -> bool {
        self.with_header_arguments.contains(name)
    }
}

fn is_annotation(key: &str) -> bool {
    key == "x-mcp-header"
}

fn is_annotated(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            map.iter().any(|(key, value)| is_annotation(key) || is_annotated(value))
        }
        Value::Array(items) => items.iter().any(is_annotated),
        _ => false,
    }
}
