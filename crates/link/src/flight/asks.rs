//! What a server asks of us, from its arrival to the reply: each question in a task of its own, and never too many.

use std::future::Future;
use std::sync::atomic::Ordering;

use serde_json::value::RawValue;
use tokio::task::AbortHandle;

use super::Flight;
use crate::context::count;
use crate::envelope::{self, Question};
use crate::question;

/// Of one call, or of no call; more at a time are not questions any more but a flood.
const MAX_QUESTIONS: usize = 64;
/// What is asked of a person, or of a model for one, is far smaller.
const MAX_QUESTION_BYTES: usize = 256 * 1024;

pub(super) struct Ask {
    /// The server's id, as it wrote it.
    id: String,
    /// The call that is asked.
    call: Option<u64>,
    task: AbortHandle,
}

impl Flight {
    /// Has a question answered. The task ends with its call, with the connection, and when the server withdraws the
    /// question. `stream_of` is the call on whose own stream it came; on a shared one it must be found.
    pub(crate) fn ask<Told: Future<Output = ()> + Send>(
        &self,
        asked: Question<'_>,
        stream_of: Option<u64>,
        tell: impl FnOnce(Vec<u8>) -> Told + Send + 'static,
    ) {
        let Question { id, method, params } = asked;
        let mut asks = self.asks.lock();
        asks.retain(|ask| !ask.task.is_finished());
        let call = stream_of.or_else(|| self.only_askable(&method));
        let mut of_call = asks.iter().filter(|ask| ask.call == call);
        // A second question with the id of an open one could be told apart by nobody.
        let is_repeated = of_call.clone().any(|ask| ask.id == id.get());
        let is_flood = of_call.nth(MAX_QUESTIONS - 1).is_some();
        // Looked at under the lock: whoever closes ends the questions under it.
        if is_repeated || is_flood || id.get().len() > MAX_QUESTION_BYTES || self.is_closed() {
            count(&self.context.declined);
            return;
        }
        let listener = call.and_then(|call| Some(self.calls.lock().get(&call)?.listener.clone()));
        let size = id.get().len() + method.len() + params.map_or(0, |params| params.get().len());
        let answer = (size <= MAX_QUESTION_BYTES).then(|| {
            let params = params.map(RawValue::to_owned);
            question::answer(self.context.clone(), listener, method.into_owned(), params)
        });
        let reply_to = id.to_owned();
        let task = tokio::spawn(async move {
            let answer = match answer {
                Some(answer) => answer.await,
                None => Err(question::too_large(MAX_QUESTION_BYTES)),
            };
            tell(envelope::reply(&reply_to, answer)).await;
        });
        let (id, task) = (id.get().to_owned(), task.abort_handle());
        asks.push(Ask { id, call, task });
    }

    /// The one call that a question on a shared stream can be about. If it could be about several, nobody is asked: what one
    /// caller is asked must not be put to another. From then on such calls run one after another.
    fn only_askable(&self, method: &str) -> Option<u64> {
        if !question::is_for_callers(method) {
            return None;
        }
        let calls = self.calls.lock();
        let mut askable = calls.iter().filter(|(_, entry)| entry.listener.asker.is_some());
        match (askable.next(), askable.next()) {
            (Some((only, _)), None) => Some(*only),
            (None, _) => None,
            (Some(_), Some(_)) => {
                self.context.one_at_a_time.store(true, Ordering::Relaxed);
                None
            }
        }
    }

    /// The server does not want to know any more. What came on a call's own stream is about that call only.
    pub(super) fn withdraw(&self, id: &str, stream_of: Option<u64>) {
        self.end_asks(|ask| ask.id == id && (stream_of.is_none() || ask.call == stream_of));
    }

    pub(super) fn end_asks_of(&self, call: u64) {
        self.end_asks(|ask| ask.call == Some(call));
    }

    pub(super) fn end_all_asks(&self) {
        self.end_asks(|_| true);
    }

    fn end_asks(&self, is_over: impl Fn(&Ask) -> bool) {
        self.asks.lock().retain(|ask| {
            let over = is_over(ask);
            if over {
                ask.task.abort();
            }
            !over
        });
    }
}
