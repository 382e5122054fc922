//! The gateway: connects to all upstreams at once, keeps them current and publishes one catalog.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use link::ConnectionStatus;
use parking_lot::Mutex;
use runtime::{Catalog, CatalogError, Pipeline};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::catalog::{NameClash, merge_catalog};
use crate::samples::SampleRecorder;
use crate::upstream::{GatewayContext, GatewayUpstream, PinWriteMode};
use crate::{GatewayError, GatewayOptions, LockFile, read_overlays};
use crate::{overlays, refresh};

/// Builds the catalog of tools that are offered in addition to those of the upstreams.
pub type BaseCatalogBuilder = Box<dyn Fn() -> Result<Catalog, CatalogError> + Send + Sync>;

/// Maximum concurrent admissions. Each thread retains the memory of its list, so the number is small. It is more than
/// one so that a slow list does not block other upstreams.
const MAX_CONCURRENT_ADMISSIONS: usize = 4;

/// Stamps of the overlay folders, by upstream. A different stamp means that overlays changed.
pub(crate) type OverlayStamps = Vec<overlays::OverlayFolderStamp>;

/// The upstreams of one project.
pub struct Gateway {
    upstreams: Vec<Arc<GatewayUpstream>>,
    lock: LockFile,
    recorder: Option<Arc<SampleRecorder>>,
    base: BaseCatalogBuilder,
    /// Locked while a catalog is built and published, so that an older one never replaces a newer one. Holds the name
    /// clashes already logged.
    publishing: Mutex<Vec<NameClash>>,
    tasks: Mutex<JoinSet<()>>,
    stop: CancellationToken,
}

impl Gateway {
    /// Creates a gateway without connecting. Errors in overlays and the lock file are returned here, before serving.
    pub fn new(
        options: GatewayOptions,
        base: BaseCatalogBuilder,
    ) -> Result<Arc<Self>, GatewayError> {
        Self::with_connections(options, base, &[])
    }

    /// Creates a gateway that takes over this one's connections to upstreams whose connection options are the same.
    pub fn succeed(
        &self,
        options: GatewayOptions,
        base: BaseCatalogBuilder,
    ) -> Result<Arc<Self>, GatewayError> {
        Self::with_connections(options, base, &self.upstreams)
    }

    fn with_connections(
        options: GatewayOptions,
        base: BaseCatalogBuilder,
        before: &[Arc<GatewayUpstream>],
    ) -> Result<Arc<Self>, GatewayError> {
        let mut names = BTreeSet::new();
        let lock =
            LockFile::new(options.lock, options.lock_guard).with_trust(options.trust.clone());
        lock.read()?;
        let site = GatewayContext {
            separator: options.separator,
            contracts: options.contracts,
            contracts_shown: options.contracts_shown,
            lock: lock.clone(),
            trust: options.trust,
            adjust: options.adjust,
            recorder: options.samples.map(|folder| Arc::new(SampleRecorder::new(folder))),
            judging: Arc::new(Semaphore::new(MAX_CONCURRENT_ADMISSIONS)),
        };
        let mut upstreams = Vec::new();
        for upstream in options.upstreams {
            let trust = site.trust.as_ref();
            read_overlays(&site.contracts, &site.contracts_shown, upstream.name(), trust)?;
            if !names.insert(upstream.name().to_owned()) {
                return Err(GatewayError::DuplicateUpstream(upstream.name().to_owned()));
            }
            let known = before.iter().find(|known| {
                known.options().link.is_same_connection(&upstream.link)
                    && !matches!(known.connection().status(), ConnectionStatus::Closed)
            });
            upstreams.push(Arc::new(match known {
                Some(known) => GatewayUpstream::take_over(upstream, site.clone(), known),
                None => GatewayUpstream::new(upstream, site.clone()),
            }));
        }
        Ok(Arc::new(Self {
            upstreams,
            lock,
            recorder: site.recorder,
            base,
            publishing: Mutex::default(),
            tasks: Mutex::default(),
            stop: CancellationToken::new(),
        }))
    }

    pub fn upstreams(&self) -> &[Arc<GatewayUpstream>] {
        &self.upstreams
    }

    /// Refreshes all upstreams once, in parallel, each within its own time limit. Nothing is pinned.
    pub async fn inspect_upstreams(&self) {
        join_all(self.upstreams.iter().map(|upstream| upstream.refresh(PinWriteMode::ReadOnly)))
            .await;
    }

    /// Like [`Gateway::inspect_upstreams`], but pins new definitions and records changes as pending, as a running
    /// gateway does.
    pub async fn pin_upstreams(&self) {
        join_all(self.upstreams.iter().map(|upstream| upstream.refresh(PinWriteMode::Write))).await;
    }

    /// Starts tasks that refresh all upstreams now and on every change, and publish the catalog, until closed.
    pub fn keep_current(self: &Arc<Self>, pipeline: &Arc<Pipeline>) {
        let mut tasks = self.tasks.lock();
        refresh::start_tasks(self, pipeline, &mut tasks, &self.stop);
    }

    /// Waits until every upstream has been refreshed once, at most for `limit`, so that a dead server delays no other.
    pub async fn wait_until_refreshed(&self, limit: Duration) {
        let all = join_all(self.upstreams.iter().map(|upstream| upstream.wait_until_refreshed()));
        let _ = tokio::time::timeout(limit, all).await;
    }

    /// Returns the current catalog and the names that could not be assigned.
    pub fn build_catalog(&self) -> Result<(Catalog, Vec<NameClash>), CatalogError> {
        merge_catalog((self.base)()?, &self.upstreams)
    }

    /// Publishes the current catalog. [`Gateway::keep_current`] does so after every refresh; call this after
    /// [`Gateway::wait_until_refreshed`] to be sure that the first refresh is served.
    pub fn publish_catalog(&self, pipeline: &Pipeline) {
        let mut known = self.publishing.lock();
        match self.build_catalog() {
            Ok((catalog, clashes)) => {
                for clash in clashes.iter().filter(|clash| !known.contains(clash)) {
                    tracing::error!("{clash}");
                }
                *known = clashes;
                pipeline.publish(catalog);
            }
            Err(error) => tracing::error!(%error, "failed to publish catalog"),
        }
    }

    /// Returns true if another process changed the lock file since the last call.
    pub(crate) fn has_external_lock_change(&self) -> bool {
        self.lock.has_external_change()
    }

    /// Returns the current stamps of all overlay folders.
    pub(crate) fn overlay_stamps(&self) -> OverlayStamps {
        self.upstreams.iter().map(|upstream| upstream.read_overlay_stamp()).collect()
    }

    /// Stops keeping the catalog current, for a gateway that another one succeeds. A connection that the other one did not
    /// take over ends with its last call.
    pub async fn retire(&self) {
        self.stop.cancel();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        tasks.join_all().await;
        if let Some(recorder) = &self.recorder {
            recorder.flush().await;
        }
    }

    /// Closes every connection, ends every child process and flushes recorded samples to disk.
    pub async fn close(&self) {
        self.stop.cancel();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        tasks.join_all().await;
        join_all(self.upstreams.iter().map(|upstream| upstream.connection().close())).await;
        if let Some(recorder) = &self.recorder {
            recorder.flush().await;
        }
    }
}
