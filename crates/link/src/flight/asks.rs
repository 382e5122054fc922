//! What a server asks of us, from its arrival to the reply: each question in a task of its own, and never too many.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::value::RawValue;
use tokio::task::AbortHandle;

use super::{Flight, lock};
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
    /// All that is left is to tell the server.
    is_answered: Arc<AtomicBool>,
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
        let mut asks = lock(&self.asks);
        asks.retain(|ask| !ask.task.is_finished());
        let call = stream_of.or_else(|| self.only_askable(&method, &asks));
        let mut of_call = asks.iter().filter(|ask| ask.call == call);
        // A second question with the id of an open one could be told apart by nobody.
        let is_repeated = of_call.clone().any(|ask| ask.id == id.get());
        let is_flood = of_call.nth(MAX_QUESTIONS - 1).is_some();
        // Looked at under the lock: whoever closes ends the questions under it.
        if is_repeated || is_flood || id.get().len() > MAX_QUESTION_BYTES || self.is_closed() {
            count(&self.context.declined);
            return;
        }
        let listener = call.and_then(|call| Some(lock(&self.calls).get(&call)?.listener.clone()));
        let size = id.get().len() + method.len() + params.map_or(0, |params| params.get().len());
        let answer = (size <= MAX_QUESTION_BYTES).then(|| {
            let params = params.map(RawValue::to_owned);
            question::answer(self.context.clone(), listener, method.into_owned(), params)
        });
        let (reply_to, is_answered) = (id.to_owned(), Arc::new(AtomicBool::new(false)));
        let answered = is_answered.clone();
        let task = tokio::spawn(async move {
            let answer = match answer {
                Some(answer) => answer.await,
                None => Err(question::too_large(MAX_QUESTION_BYTES)),
            };
            answered.store(true, Ordering::SeqCst);
            tell(envelope::reply(&reply_to, answer)).await;
        });
        let (id, task) = (id.get().to_owned(), task.abort_handle());
        asks.push(Ask { id, call, task, is_answered });
    }

    /// The one call that a question on a shared stream can be about. If it could be about several, nobody is asked, and from
    /// now on such calls run one after another: then it is about the one that does not wait for an answer already. Not
    /// before, because the question of one caller must not be put to another.
    fn only_askable(&self, method: &str, asks: &[Ask]) -> Option<u64> {
        if !question::is_for_callers(method) {
            return None;
        }
        let calls = lock(&self.calls);
        let askable = calls.iter().filter(|(_, entry)| entry.listener.asker.is_some());
        let askable: Vec<u64> = askable.map(|(id, _)| *id).collect();
        let waits = |call: u64| {
            asks.iter().any(|ask| ask.call == Some(call) && !ask.is_answered.load(Ordering::SeqCst))
        };
        match *askable {
            [] => return None,
            [only] => return Some(only),
            _ => {}
        }
        if !self.context.one_at_a_time.swap(true, Ordering::Relaxed) {
            return None;
        }
        let mut free = askable.into_iter().filter(|call| !waits(*call));
        match (free.next(), free.next()) {
            (Some(only), None) => Some(only),
            _ => None,
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
        lock(&self.asks).retain(|ask| {
            let over = is_over(ask);
            if over {
                ask.task.abort();
            }
            !over
        });
    }
}
