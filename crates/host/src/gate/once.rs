//! Gate 6: at most one tool call for each query, by construction.
//!
//! [`SingleCall`] is the one call site of this crate. [`crate::ask()`] makes one for each query, and making the call
//! consumes it: a second call is not refused at run time, it cannot be written.
//!
//! ```
//! async fn once(call: host::SingleCall<'_>, vetted: host::Vetted) {
//!     call.make(vetted).await;
//! }
//! ```
//!
//! ```compile_fail,E0382
//! async fn twice(call: host::SingleCall<'_>, first: host::Vetted, second: host::Vetted) {
//!     call.make(first).await;
//!     call.make(second).await;
//! }
//! ```

use std::sync::atomic::{AtomicUsize, Ordering};

use contract::Caller;
use runtime::{Call, Person, Pipeline, Reply};
use tokio_util::sync::CancellationToken;

use crate::gate::vetted::Vetted;
use crate::offer::Offer;

/// The right to one call. It cannot be copied, and only this crate hands it out.
pub struct SingleCall<'a> {
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) caller: Caller,
    pub(crate) person: Person,
    pub(crate) cancel: CancellationToken,
    /// Counts what is made, so that the trace tells what happened and not what should have.
    pub(crate) made: &'a AtomicUsize,
}

impl SingleCall<'_> {
    /// Makes the call through the pipeline, with all that holds there: approval, rate, limits, audit.
    pub async fn make(self, vetted: Vetted) -> (Offer, Reply) {
        let (offer, arguments) = vetted.into_parts();
        let mut call = Call::new(offer.name.as_str(), arguments, self.caller);
        call.person = self.person;
        call.cancel = self.cancel;
        self.made.fetch_add(1, Ordering::Relaxed);
        let reply = self.pipeline.call(call).await;
        (offer, reply)
    }
}
