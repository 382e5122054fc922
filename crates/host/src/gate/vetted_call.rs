//! A call that has passed gates 1 to 3. Only gate 3 creates it, and only [`crate::SingleCall`] accepts it.

use serde_json::{Map, Value};

use crate::offer::ToolOffer;

/// A call that may be made.
#[derive(Debug)]
pub struct VettedCall {
    offer: ToolOffer,
    arguments: Map<String, Value>,
}

impl VettedCall {
    pub(super) fn new(offer: ToolOffer, arguments: Map<String, Value>) -> Self {
        Self { offer, arguments }
    }

    pub fn offer(&self) -> &ToolOffer {
        &self.offer
    }

    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    pub(super) fn into_parts(self) -> (ToolOffer, Map<String, Value>) {
        (self.offer, self.arguments)
    }
}
