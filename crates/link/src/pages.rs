//! All pages of a listing of tools, within bounds.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::{Bounds, LinkError, scan};

/// Stands in a definition that could not be taken as it came, and says why; the rest of the listing is not lost for it.
pub const DEFECT: &str = "dev.vouchsafe/defect";

/// Deeper than an answer may be: a schema's own bound is for whoever judges definitions, not for us.
const MAX_DEFINITION_DEPTH: usize = 120;

/// Of all pages together; the bounds on pages and tools alone would let in gigabytes.
const MAX_LISTING_BYTES: usize = 32 * 1024 * 1024;

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(default, rename = "nextCursor")]
    next: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    name: Value,
}

#[derive(Default)]
pub(crate) struct Listing {
    pub(crate) tools: Vec<Value>,
    seen: HashSet<String>,
    pages: usize,
    bytes: usize,
}

impl Listing {
    /// Takes one page; gives the cursor of the next.
    pub(crate) fn add(
        &mut self,
        page: &RawValue,
        bounds: &Bounds,
    ) -> Result<Option<String>, LinkError> {
        self.bytes += page.get().len();
        if self.bytes > MAX_LISTING_BYTES {
            return Err(LinkError::TooMany { what: "bytes of tools", limit: MAX_LISTING_BYTES });
        }
        let page: Page<'_> = serde_json::from_str(page.get())
            .map_err(|_| LinkError::malformed("its listing of tools is no list"))?;
        self.pages += 1;
        if self.tools.len() + page.tools.len() > bounds.max_tools {
            return Err(LinkError::TooMany { what: "tools", limit: bounds.max_tools });
        }
        self.tools.extend(page.tools.into_iter().map(definition));
        let Some(next) = page.next else { return Ok(None) };
        if !self.seen.insert(next.clone()) {
            return Err(LinkError::malformed(
                "its listing of tools goes in circles (a cursor came twice)",
            ));
        }
        if self.pages >= bounds.max_pages {
            return Err(LinkError::TooMany { what: "pages of tools", limit: bounds.max_pages });
        }
        Ok(Some(next))
    }
}

fn definition(tool: &RawValue) -> Value {
    let text = tool.get();
    let defect = if scan::check_depth(text, MAX_DEFINITION_DEPTH).is_err() {
        format!("the definition is nested deeper than {MAX_DEFINITION_DEPTH} levels")
    } else if let Ok(tool) = serde_json::from_str(text) {
        return tool;
    } else {
        "the definition holds a number or a text that cannot be read".to_owned()
    };
    // Reading only the name skips the rest without following it down.
    let name = serde_json::from_str::<Named>(text).map_or(Value::Null, |named| named.name);
    json!({ "name": name, DEFECT: defect })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_that_is_too_deep_costs_only_itself() {
        let deep = "[".repeat(500) + &"]".repeat(500);
        let page = format!(r#"{{"tools":[{{"name":"a"}},{{"x":{deep},"name":"b"}},7]}}"#);
        let mut listing = Listing::default();
        let page: Box<RawValue> = RawValue::from_string(page).unwrap();
        assert_eq!(listing.add(&page, &Bounds::default()), Ok(None));
        assert_eq!(listing.tools[0], json!({ "name": "a" }));
        assert_eq!(listing.tools[1]["name"], "b");
        assert!(listing.tools[1][DEFECT].is_string());
        assert_eq!(listing.tools[2], 7);
    }

    #[test]
    fn a_definition_that_cannot_be_read_costs_only_itself() {
        let page = r#"{"tools":[
            {"name":"a","x":1e400},{"name":"b","x":"\ud800"},{"name":"\udfff"},{"name":"d"}
        ]}"#;
        let mut listing = Listing::default();
        let page: Box<RawValue> = RawValue::from_string(page.to_owned()).unwrap();
        assert_eq!(listing.add(&page, &Bounds::default()), Ok(None));
        let defect = "the definition holds a number or a text that cannot be read";
        assert_eq!(
            listing.tools,
            [
                json!({ "name": "a", DEFECT: defect }),
                json!({ "name": "b", DEFECT: defect }),
                json!({ "name": null, DEFECT: defect }),
                json!({ "name": "d" }),
            ]
        );
    }

    #[test]
    fn all_pages_together_have_a_limit() {
        let mut listing = Listing::default();
        let mut pages = (0..).map(|number| {
            let padding = "x".repeat(10_000_000);
            let page = format!(r#"{{"tools":[{{"x":"{padding}"}}],"nextCursor":"{number}"}}"#);
            listing.add(&RawValue::from_string(page).unwrap(), &Bounds::default())
        });
        let refused = pages.find_map(Result::err).unwrap();
        assert_eq!(refused.to_string(), "the server offers more than 33554432 bytes of tools");
        assert_eq!(listing.tools.len(), 3);
    }
}
