//! Collects the pages of a tool listing, within bounds.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::{ConnectionError, MessageBounds, json_scan};

/// Key in the placeholder of a definition that cannot be parsed; its value is the reason. The other definitions of the
/// listing stay usable.
pub const DEFECT_KEY: &str = "dev.vouchsafe/defect";

/// Maximum nesting of a definition. Higher than for results: the `admit` crate applies a stricter bound to schemas.
const MAX_DEFINITION_DEPTH: usize = 120;

/// Maximum size of all pages together. The bounds of pages and tools alone would allow gigabytes.
const MAX_LISTING_BYTES: usize = 32 * 1024 * 1024;

/// One page of `tools/list`.
#[derive(Deserialize)]
struct ToolListPage<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(default, rename = "nextCursor")]
    next: Option<String>,
}

/// The name of a definition, parsed without the rest.
#[derive(Deserialize)]
struct ToolNameOnly {
    #[serde(default)]
    name: Value,
}

/// The definitions collected so far.
#[derive(Default)]
pub(crate) struct PagedToolList {
    pub(crate) tools: Vec<Value>,
    seen: HashSet<String>,
    pages: usize,
    bytes: usize,
}

impl PagedToolList {
    /// Adds one page. Returns the cursor of the next page, or `None` after the last.
    ///
    /// # Errors
    /// If the page is malformed, exceeds the bounds, or repeats a cursor.
    pub(crate) fn add_page(
        &mut self,
        page: &RawValue,
        bounds: &MessageBounds,
    ) -> Result<Option<String>, ConnectionError> {
        self.bytes += page.get().len();
        if self.bytes > MAX_LISTING_BYTES {
            return Err(ConnectionError::TooMany {
                items: "bytes of tools",
                limit: MAX_LISTING_BYTES,
            });
        }
        let page: ToolListPage<'_> = serde_json::from_str(page.get())
            .map_err(|_| ConnectionError::protocol_violation("invalid tool listing"))?;
        self.pages += 1;
        if self.tools.len() + page.tools.len() > bounds.max_tools {
            return Err(ConnectionError::TooMany { items: "tools", limit: bounds.max_tools });
        }
        self.tools.extend(page.tools.into_iter().map(parse_definition));
        let Some(next) = page.next else { return Ok(None) };
        if !self.seen.insert(next.clone()) {
            return Err(ConnectionError::protocol_violation("the tool listing repeats a cursor"));
        }
        if self.pages >= bounds.max_pages {
            return Err(ConnectionError::TooMany {
                items: "pages of tools",
                limit: bounds.max_pages,
            });
        }
        Ok(Some(next))
    }
}

/// Parses a definition. Returns a placeholder with [`DEFECT_KEY`] if that fails.
fn parse_definition(tool: &RawValue) -> Value {
    let text = tool.get();
    let defect = match json_scan::check_depth(text, MAX_DEFINITION_DEPTH) {
        Err(ConnectionError::TooDeep { limit }) => {
            format!("the definition is nested deeper than {limit} levels")
        }
        Err(_) => "the definition has a reserved key".to_owned(),
        Ok(()) => match serde_json::from_str(text) {
            Ok(tool) => return tool,
            Err(_) => "the definition contains an invalid number or string".to_owned(),
        },
    };
    // Parsing only the name skips the rest without recursion.
    let name = serde_json::from_str::<ToolNameOnly>(text).map_or(Value::Null, |named| named.name);
    json!({ "name": name, DEFECT_KEY: defect })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_only_definitions_that_are_nested_too_deeply() {
        let deep = "[".repeat(500) + &"]".repeat(500);
        let page = format!(r#"{{"tools":[{{"name":"a"}},{{"x":{deep},"name":"b"}},7]}}"#);
        let mut listing = PagedToolList::default();
        let page: Box<RawValue> = RawValue::from_string(page).unwrap();
        assert_eq!(listing.add_page(&page, &MessageBounds::default()), Ok(None));
        assert_eq!(listing.tools[0], json!({ "name": "a" }));
        assert_eq!(listing.tools[1]["name"], "b");
        assert!(listing.tools[1][DEFECT_KEY].is_string());
        assert_eq!(listing.tools[2], 7);
    }

    #[test]
    fn replaces_only_definitions_that_cannot_be_parsed() {
        let page = r#"{"tools":[
            {"name":"a","x":1e400},{"name":"b","x":"\ud800"},{"name":"\udfff"},{"name":"d"}
        ]}"#;
        let mut listing = PagedToolList::default();
        let page: Box<RawValue> = RawValue::from_string(page.to_owned()).unwrap();
        assert_eq!(listing.add_page(&page, &MessageBounds::default()), Ok(None));
        let defect = "the definition contains an invalid number or string";
        assert_eq!(
            listing.tools,
            [
                json!({ "name": "a", DEFECT_KEY: defect }),
                json!({ "name": "b", DEFECT_KEY: defect }),
                json!({ "name": null, DEFECT_KEY: defect }),
                json!({ "name": "d" }),
            ]
        );
    }

    #[test]
    fn rejects_listings_over_the_total_size_limit() {
        let mut listing = PagedToolList::default();
        let mut pages = (0..).map(|number| {
            let padding = "x".repeat(10_000_000);
            let page = format!(r#"{{"tools":[{{"x":"{padding}"}}],"nextCursor":"{number}"}}"#);
            listing.add_page(&RawValue::from_string(page).unwrap(), &MessageBounds::default())
        });
        let error = pages.find_map(Result::err).unwrap();
        assert_eq!(error.to_string(), "the server offers more than 33554432 bytes of tools");
        assert_eq!(listing.tools.len(), 3);
    }
}
