//! Gate 6: at most one tool call for each query, by construction.
//!
//! [`SingleCall`] is the only call site of this crate. [`crate::answer_query`] creates one for each query, and making
//! the call consumes it. A second call is therefore a compile error, not a runtime check.
//!
//! ```
//! async fn once(call: host::SingleCall<'_>, vetted: host::VettedCall) {
//!     call.make(vetted).await;
//! }
//! ```
//!
//! ```compile_fail,E0382
//! async fn twice(call: host::SingleCall<'_>, first: host::VettedCall, second: host::VettedCall) {
//!     call.make(first).await;
//!     call.make(second).await;
//! }
//! ```

use std::sync::atomic::{AtomicUsize, Ordering};

use contract::Caller;
use runtime::{CallOrigin, ElicitationChannel, Pipeline, ToolCall, ToolReply};
use tokio_util::sync::CancellationToken;

use crate::gate::vetted_call::VettedCall;
use crate::offer::ToolOffer;

/// Permission for one call. It cannot be copied, and only this crate creates it.
pub struct SingleCall<'a> {
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) caller: Caller,
    pub(crate) person: ElicitationChannel,
    pub(crate) cancel: CancellationToken,
    /// Counts the calls, so that the trace records the actual number.
    pub(crate) made: &'a AtomicUsize,
}

impl SingleCall<'_> {
    /// Makes the call through the pipeline, which enforces approval, rates, limits and audit.
    ///
    /// Returns the called tool together with the reply.
    pub async fn make(self, vetted: VettedCall) -> (ToolOffer, ToolReply) {
        let (offer, arguments) = vetted.into_parts();
        let mut call = ToolCall::new(offer.name.as_str(), arguments, self.caller);
        // The user runs the query, so the person at the terminal may approve.
        call.origin = CallOrigin::Local;
        call.channel = self.person;
        call.cancel = self.cancel;
        self.made.fetch_add(1, Ordering::Relaxed);
        let reply = self.pipeline.call(call).await;
        (offer, reply)
    }
}
