//! Sends progress reports to the client while a call runs.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use contract::Progress;
use tokio::sync::mpsc::Receiver;

/// Runs the call while sending its progress reports. Returns the result once all earlier reports have been sent.
pub(super) async fn run_with_progress<T, Notification: Future<Output = ()>>(
    call: impl Future<Output = T>,
    mut reports: Receiver<Progress>,
    notify: impl Fn(Progress) -> Notification,
) -> T {
    let is_sending = AtomicBool::new(false);
    let mut sending = pin!(async {
        while let Some(report) = reports.recv().await {
            is_sending.store(true, Ordering::Relaxed);
            notify(report).await;
            is_sending.store(false, Ordering::Relaxed);
        }
        pending::<Infallible>().await
    });
    // Concurrently: a flood of reports, or a client that does not read them, must not delay the call's own limits.
    let reply = tokio::select! {
        biased;
        reply = call => reply,
        never = &mut sending => match never {},
    };
    // A fresh task budget covers more than the queue can hold, and less than an endless call could report.
    tokio::task::yield_now().await;
    poll_fn(|cx| {
        let _ = sending.as_mut().poll(cx);
        if is_sending.load(Ordering::Relaxed) { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    reply
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test]
    async fn sends_all_reports_before_returning_the_result() {
        let (sender, reports) = tokio::sync::mpsc::channel(64);
        let sent = Mutex::new(Vec::new());
        let call = async {
            for done in 0..64 {
                let report = Progress { done: f64::from(done), total: None, message: None };
                sender.try_send(report).expect("there is room");
                if done == 1 {
                    tokio::task::yield_now().await;
                }
            }
        };
        let sink = &sent;
        let notify = |report: Progress| async move {
            tokio::task::yield_now().await;
            sink.lock().expect("not poisoned").push(report.done);
        };
        run_with_progress(call, reports, notify).await;
        let sent = sent.into_inner().expect("not poisoned");
        assert_eq!(sent, (0..64).map(f64::from).collect::<Vec<_>>());
    }
}
