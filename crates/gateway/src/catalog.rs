//! Merges the tools of all upstreams into one catalog with unique names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use contract::text::one_line;
use runtime::{Catalog, CatalogError};

use crate::upstream::{GatewayUpstream, OfferedTool};

/// Maximum length of a tool name in MCP.
const MAX_NAME: usize = 128;

/// A name that several tools claim, or that is too long. None of these tools is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameClash {
    pub name: String,
    /// The claimants as `upstream/tool`; a single one if the name is too long.
    pub claimants: Vec<String>,
}

impl std::fmt::Display for NameClash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let claimants: Vec<_> = self.claimants.iter().map(|name| one_line(name)).collect();
        let name = one_line(&self.name);
        match claimants.as_slice() {
            [one] => {
                write!(f, "{one} would be named `{name}`, which is over {MAX_NAME} characters")
            }
            all => write!(
                f,
                "{} would all be named `{name}`; rename an upstream or set another `separator` in [gateway]",
                all.join(" and ")
            ),
        }
    }
}

/// Adds the tools of all upstreams to `base`. Returns the catalog and the names that could not be assigned.
pub(crate) fn merge_catalog(
    mut base: Catalog,
    upstreams: &[Arc<GatewayUpstream>],
) -> Result<(Catalog, Vec<NameClash>), CatalogError> {
    let mut wanted: BTreeMap<String, Vec<(String, Arc<OfferedTool>)>> = BTreeMap::new();
    for upstream in upstreams {
        for (name, offer) in &upstream.snapshot().offers {
            let claimant = format!("{}/{}", upstream.name(), offer.invoker.tool_name());
            wanted.entry(name.clone()).or_default().push((claimant, Arc::clone(offer)));
        }
    }
    let taken: BTreeSet<String> = base.names().map(str::to_owned).collect();
    let mut clashes = Vec::new();
    for (name, offers) in wanted {
        let mut claimants: Vec<String> =
            offers.iter().map(|(claimant, _)| claimant.clone()).collect();
        if taken.contains(&name) {
            claimants.push(format!("the pack tool {name}"));
        }
        if claimants.len() > 1 || name.len() > MAX_NAME {
            clashes.push(NameClash { name, claimants });
            continue;
        }
        for (_, offer) in offers {
            base.add_invoker(Arc::clone(&offer.contract), Arc::clone(&offer.invoker) as _)?;
        }
    }
    Ok((base, clashes))
}
