//! A call that has passed gates 1 to 3. Only gate 3 makes one, and only [`crate::SingleCall`] takes one.

use serde_json::{Map, Value};

use crate::offer::Offer;

/// A call that may be made.
#[derive(Debug)]
pub struct Vetted {
    offer: Offer,
    arguments: Map<String, Value>,
}

impl Vetted {
    pub(super) fn new(offer: Offer, arguments: Map<String, Value>) -> Self {
        Self { offer, arguments }
    }

    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    pub(super) fn into_parts(self) -> (Offer, Map<String, Value>) {
        (self.offer, self.arguments)
    }
}
