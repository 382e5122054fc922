//! Tracks unanswered requests in both directions, so that calls in flight finish after the input has ended.

use std::collections::HashSet;

use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use tokio::sync::Notify;

/// The unanswered requests of a session.
#[derive(Default)]
pub(super) struct PendingRequests {
    open: Mutex<PendingIds>,
    changed: Notify,
}

#[derive(Default)]
struct PendingIds {
    /// The client's requests that have not been answered yet.
    calls: HashSet<RequestId>,
    /// The server's requests that the client has not answered yet.
    elicitations: HashSet<RequestId>,
}

impl PendingRequests {
    /// Records a message that was received.
    pub(super) fn record_received(&self, message: &RxJsonRpcMessage<RoleServer>) {
        let mut open = self.open.lock();
        match message {
            JsonRpcMessage::Request(request) => {
                open.calls.insert(request.id.clone());
            }
            JsonRpcMessage::Notification(notification) => {
                // A cancelled request is not answered.
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    open.calls.remove(id);
                }
            }
            JsonRpcMessage::Response(response) => {
                open.elicitations.remove(&response.id);
            }
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    open.elicitations.remove(id);
                }
            }
        }
    }

    /// Records a call that the SDK does not see. Returns false if its id is in use.
    pub(super) fn record_call(&self, id: &RequestId) -> bool {
        self.open.lock().calls.insert(id.clone())
    }

    /// Records a message that is about to be sent. Returns the id that it answers, for
    /// [`PendingRequests::record_answered`].
    pub(super) fn record_sending(
        &self,
        message: &TxJsonRpcMessage<RoleServer>,
    ) -> Option<RequestId> {
        match message {
            JsonRpcMessage::Request(request) => {
                self.open.lock().elicitations.insert(request.id.clone());
                self.changed.notify_one();
                None
            }
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Notification(_) => None,
        }
    }

    /// Records that the answer has been written, or that writing failed.
    pub(super) fn record_answered(&self, id: &RequestId) {
        self.open.lock().calls.remove(id);
        self.changed.notify_one();
    }

    /// Ends the session after the input has ended. Returns an error message for each elicitation that can no longer be
    /// answered, and `None` once every call has been answered.
    pub(super) async fn drain_pending(&self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            {
                let mut open = self.open.lock();
                let next = open.elicitations.iter().next().cloned();
                if let Some(id) = next.and_then(|id| open.elicitations.take(&id)) {
                    let closed = ErrorData::internal_error(
                        "the connection closed before an answer arrived",
                        None,
                    );
                    return Some(JsonRpcMessage::error(closed, Some(id)));
                }
                if open.calls.is_empty() {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }
}
