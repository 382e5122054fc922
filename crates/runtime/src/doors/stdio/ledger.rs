//! What is still open between the two sides, so that the end of the input is not the end of the calls.

use std::collections::HashSet;

use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use tokio::sync::Notify;

#[derive(Default)]
pub(super) struct Ledger {
    open: Mutex<Open>,
    changed: Notify,
}

#[derive(Default)]
struct Open {
    /// The client's requests that are not answered yet.
    calls: HashSet<RequestId>,
    /// Our requests that the client has not answered yet.
    questions: HashSet<RequestId>,
}

impl Ledger {
    pub(super) fn received(&self, message: &RxJsonRpcMessage<RoleServer>) {
        let mut open = self.open.lock();
        match message {
            JsonRpcMessage::Request(request) => {
                open.calls.insert(request.id.clone());
            }
            JsonRpcMessage::Notification(notification) => {
                // A request that is withdrawn is not answered.
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    open.calls.remove(id);
                }
            }
            JsonRpcMessage::Response(response) => {
                open.questions.remove(&response.id);
            }
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    open.questions.remove(id);
                }
            }
        }
    }

    /// Notes what is about to be sent; gives the id that it answers, for [`Ledger::answered`].
    pub(super) fn sending(&self, message: &TxJsonRpcMessage<RoleServer>) -> Option<RequestId> {
        match message {
            JsonRpcMessage::Request(request) => {
                self.open.lock().questions.insert(request.id.clone());
                self.changed.notify_one();
                None
            }
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Notification(_) => None,
        }
    }

    /// The answer is written, or cannot be.
    pub(super) fn answered(&self, id: &RequestId) {
        self.open.lock().calls.remove(id);
        self.changed.notify_one();
    }

    /// Once nothing more is read: an error for each question that will find no answer, and None when every call has one.
    pub(super) async fn wind_up(&self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            {
                let mut open = self.open.lock();
                let question = open.questions.iter().next().cloned();
                if let Some(id) = question.and_then(|id| open.questions.take(&id)) {
                    let gone = ErrorData::internal_error("no answer can come any more", None);
                    return Some(JsonRpcMessage::error(gone, Some(id)));
                }
                if open.calls.is_empty() {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }
}
