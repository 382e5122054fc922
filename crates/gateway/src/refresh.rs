//! Keeps the catalog current.
//!
//! One task per upstream refreshes it when its server reports a change, when the operator changes a pin or an overlay,
//! and after a failure. Another task watches the operator's files.

use std::sync::Arc;
use std::time::Duration;

use runtime::Pipeline;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::Gateway;
use crate::gateway::OverlayStamps;
use crate::upstream::{GatewayUpstream, PinWriteMode};

/// Interval for checking the operator's files. After `vouch accept`, a tool is back within this time.
const FILE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum time between two refreshes of one upstream, however often its server reports changes.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_millis(250);
/// First delay before retrying a failed refresh. It doubles up to [`MAX_RETRY_DELAY`].
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(500);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// Spawns the tasks that watch files and refresh upstreams until `stop` is cancelled.
pub(crate) fn start_tasks(
    gateway: &Arc<Gateway>,
    pipeline: &Arc<Pipeline>,
    tasks: &mut JoinSet<()>,
    stop: &CancellationToken,
) {
    let (files, changes) = watch::channel(0_u64);
    // Taken before the first refresh reads the files, so that later changes are noticed.
    gateway.has_external_lock_change();
    let seen = gateway.overlay_stamps();
    tasks.spawn(run_until_stopped(stop.clone(), watch_files(Arc::clone(gateway), seen, files)));
    for upstream in gateway.upstreams() {
        let work = follow_upstream(
            Arc::clone(gateway),
            Arc::clone(upstream),
            Arc::clone(pipeline),
            changes.clone(),
        );
        tasks.spawn(run_until_stopped(stop.clone(), work));
    }
}

async fn run_until_stopped(stop: CancellationToken, work: impl Future<Output = ()>) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

async fn watch_files(gateway: Arc<Gateway>, mut seen: OverlayStamps, files: watch::Sender<u64>) {
    loop {
        tokio::time::sleep(FILE_CHECK_INTERVAL).await;
        let checked = Arc::clone(&gateway);
        // Blocking: there may be many files on a slow disk.
        let check = move || (checked.has_external_lock_change(), checked.overlay_stamps());
        // Pins written by this process do not count, or one constantly changing server would trigger all others.
        let Ok((has_news, now)) = tokio::task::spawn_blocking(check).await else { return };
        if has_news || now != seen {
            seen = now;
            files.send_modify(|changes| *changes += 1);
        }
    }
}

async fn follow_upstream(
    gateway: Arc<Gateway>,
    upstream: Arc<GatewayUpstream>,
    pipeline: Arc<Pipeline>,
    mut files: watch::Receiver<u64>,
) {
    let mut lists = upstream.connection().subscribe_list_changed();
    let mut retry = FIRST_RETRY_DELAY;
    loop {
        // Marked before the refresh, so that changes during it trigger another one.
        lists.mark_unchanged();
        files.mark_unchanged();
        let earliest_next = tokio::time::Instant::now() + MIN_REFRESH_INTERVAL;
        upstream.refresh(PinWriteMode::Write).await;
        gateway.publish_catalog(&pipeline);
        let pause = if upstream.snapshot().failure.is_some() {
            let pause = retry;
            retry = (retry * 2).min(MAX_RETRY_DELAY);
            pause
        } else {
            retry = FIRST_RETRY_DELAY;
            upstream.options().relist_after
        };
        tokio::select! {
            changed = lists.changed() => if changed.is_err() { return },
            changed = files.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(pause) => {}
        }
        tokio::time::sleep_until(earliest_next).await;
    }
}
