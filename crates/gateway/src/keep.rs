//! Keeping the catalog current: one task for each upstream lists again when its server says so, when the operator
//! changes a pin or an overlay, or when it failed before.

use std::sync::Arc;
use std::time::Duration;

use runtime::Pipeline;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::Gateway;
use crate::gateway::Stamp;
use crate::upstream::{Pinning, Upstream};

/// How often the operator's files are looked at: after `vouch accept` a tool is back within this time.
const FILES_PACE: Duration = Duration::from_secs(1);
/// Between two looks at one server, however often it says that its list has changed.
const LEAST_PAUSE: Duration = Duration::from_millis(250);
/// Between two tries to list the tools of a server that does not answer.
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(30);

pub(crate) fn start(
    gateway: &Arc<Gateway>,
    pipeline: &Arc<Pipeline>,
    tasks: &mut JoinSet<()>,
    stop: &CancellationToken,
) {
    let (files, changes) = watch::channel(0_u64);
    // Before anybody reads them: what changes from now on is seen.
    gateway.lock_has_news();
    let seen = gateway.stamp();
    tasks.spawn(until(stop.clone(), watch_files(Arc::clone(gateway), seen, files)));
    for upstream in gateway.upstreams() {
        let work = follow(
            Arc::clone(gateway),
            Arc::clone(upstream),
            Arc::clone(pipeline),
            changes.clone(),
        );
        tasks.spawn(until(stop.clone(), work));
    }
}

async fn until(stop: CancellationToken, work: impl Future<Output = ()>) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

async fn watch_files(gateway: Arc<Gateway>, mut seen: Stamp, files: watch::Sender<u64>) {
    loop {
        tokio::time::sleep(FILES_PACE).await;
        let looking = Arc::clone(&gateway);
        // There may be many, on a slow disk.
        let look = move || (looking.lock_has_news(), looking.stamp());
        // What we pinned ourselves is no news: a server whose definitions change all the time bothers no other.
        let Ok((has_news, now)) = tokio::task::spawn_blocking(look).await else { return };
        if has_news || now != seen {
            seen = now;
            files.send_modify(|changes| *changes += 1);
        }
    }
}

async fn follow(
    gateway: Arc<Gateway>,
    upstream: Arc<Upstream>,
    pipeline: Arc<Pipeline>,
    mut files: watch::Receiver<u64>,
) {
    let mut lists = upstream.link().list_changed();
    let mut retry = FIRST_RETRY;
    loop {
        // Seen before the look: what changes meanwhile is looked at again.
        lists.mark_unchanged();
        files.mark_unchanged();
        let rested = tokio::time::Instant::now() + LEAST_PAUSE;
        upstream.look(Pinning::Write).await;
        gateway.publish(&pipeline);
        let pause = if upstream.view().failure.is_some() {
            let pause = retry;
            retry = (retry * 2).min(LAST_RETRY);
            pause
        } else {
            retry = FIRST_RETRY;
            upstream.options().relist_after
        };
        tokio::select! {
            changed = lists.changed() => if changed.is_err() { return },
            changed = files.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(pause) => {}
        }
        tokio::time::sleep_until(rested).await;
    }
}
