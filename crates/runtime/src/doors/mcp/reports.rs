//! Reports of how far a call has come, told to the client while the call goes on.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use contract::Progress;
use tokio::sync::mpsc::Receiver;

/// Runs the call and tells its reports beside it. What was reported before the answer is told before it comes back.
pub(super) async fn beside<T, Told: Future<Output = ()>>(
    call: impl Future<Output = T>,
    mut reports: Receiver<Progress>,
    tell: impl Fn(Progress) -> Told,
) -> T {
    let is_telling = AtomicBool::new(false);
    let mut telling = pin!(async {
        while let Some(report) = reports.recv().await {
            is_telling.store(true, Ordering::Relaxed);
            tell(report).await;
            is_telling.store(false, Ordering::Relaxed);
        }
        pending::<Infallible>().await
    });
    // Side by side: a flood of reports, or a client that does not take them, must not keep the call's own limits from
    // being looked at.
    let reply = tokio::select! {
        biased;
        reply = call => reply,
        never = &mut telling => match never {},
    };
    // With a new budget, which is more than may wait, and less than a call without end could report.
    tokio::task::yield_now().await;
    poll_fn(|cx| {
        let _ = telling.as_mut().poll(cx);
        if is_telling.load(Ordering::Relaxed) { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    reply
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// However long it takes to tell one.
    #[tokio::test]
    async fn all_that_was_reported_is_told_before_the_answer() {
        let (sender, reports) = tokio::sync::mpsc::channel(64);
        let told = Mutex::new(Vec::new());
        let call = async {
            for done in 0..64 {
                let report = Progress { done: f64::from(done), total: None, message: None };
                sender.try_send(report).expect("there is room");
                if done == 1 {
                    tokio::task::yield_now().await;
                }
            }
        };
        let heard = &told;
        let tell = |report: Progress| async move {
            tokio::task::yield_now().await;
            heard.lock().expect("nobody panics").push(report.done);
        };
        beside(call, reports, tell).await;
        let told = told.into_inner().expect("nobody panics");
        assert_eq!(told, (0..64).map(f64::from).collect::<Vec<_>>());
    }
}
