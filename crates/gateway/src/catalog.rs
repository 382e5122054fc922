//! All that may be called, of all upstreams, under one name each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use contract::text::one_line;
use runtime::{Catalog, CatalogError};

use crate::upstream::{Offer, Upstream};

/// The longest name that the protocol allows.
const MAX_NAME: usize = 128;

/// A name that cannot be given: two tools want it, or it is too long. None of them is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    pub name: String,
    /// Who wants it, `upstream/tool` each; one only, if the name is too long.
    pub claimants: Vec<String>,
}

impl std::fmt::Display for Clash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let claimants: Vec<_> = self.claimants.iter().map(|name| one_line(name)).collect();
        let name = one_line(&self.name);
        match claimants.as_slice() {
            [one] => write!(f, "{one} would be `{name}`, which is over {MAX_NAME} characters"),
            all => write!(
                f,
                "{} would all be `{name}`; rename an upstream or set another `separator` in [gateway]",
                all.join(" and ")
            ),
        }
    }
}

/// Puts the tools of all upstreams beside those of `base`.
pub(crate) fn lay_out(
    mut base: Catalog,
    upstreams: &[Arc<Upstream>],
) -> Result<(Catalog, Vec<Clash>), CatalogError> {
    let mut wanted: BTreeMap<String, Vec<(String, Arc<Offer>)>> = BTreeMap::new();
    for upstream in upstreams {
        for (name, offer) in &upstream.view().offers {
            let claimant = format!("{}/{}", upstream.name(), offer.invoker.tool());
            wanted.entry(name.clone()).or_default().push((claimant, Arc::clone(offer)));
        }
    }
    let taken: BTreeSet<String> = base.names().map(str::to_owned).collect();
    let mut clashes = Vec::new();
    for (name, offers) in wanted {
        let mut claimants: Vec<String> = offers.iter().map(|(who, _)| who.clone()).collect();
        if taken.contains(&name) {
            claimants.push(format!("the pack's own tool {name}"));
        }
        if claimants.len() > 1 || name.len() > MAX_NAME {
            clashes.push(Clash { name, claimants });
            continue;
        }
        for (_, offer) in offers {
            base.add(Arc::clone(&offer.contract), Arc::clone(&offer.invoker) as _)?;
        }
    }
    Ok((base, clashes))
}
