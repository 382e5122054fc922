//! All upstreams together: opened at once, kept current, published as one catalog.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use parking_lot::Mutex;
use runtime::{Catalog, CatalogError, Pipeline};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::catalog::{Clash, lay_out};
use crate::samples::Recorder;
use crate::upstream::{Pinning, Site, Upstream};
use crate::{GatewayError, LockFile, Options, read_overlays};
use crate::{keep, overlays};

/// The tools that are offered beside those of the upstreams.
pub type Base = Box<dyn Fn() -> Result<Catalog, CatalogError> + Send + Sync>;

/// Lists that are judged at once. Each thread keeps the memory that a list took; with more than one, a server whose list
/// takes long holds nobody up.
const JUDGES: usize = 4;

/// What tells one state of the overlays from another, by upstream.
pub(crate) type Stamp = Vec<overlays::Stamp>;

/// The upstreams of one project.
pub struct Gateway {
    upstreams: Vec<Arc<Upstream>>,
    lock: LockFile,
    recorder: Option<Arc<Recorder>>,
    base: Base,
    /// Held while a catalog is laid out and published, so that an older one never takes the place of a newer.
    publishing: Mutex<Vec<Clash>>,
    tasks: Mutex<JoinSet<()>>,
    stop: CancellationToken,
}

impl Gateway {
    /// Connects to nobody yet. What is wrong on disk is told here, before anything is served.
    pub fn new(options: Options, base: Base) -> Result<Arc<Self>, GatewayError> {
        let mut names = BTreeSet::new();
        let lock = LockFile::new(options.lock, options.lock_guard);
        lock.read()?;
        let site = Site {
            separator: options.separator,
            contracts: options.contracts,
            contracts_shown: options.contracts_shown,
            lock: lock.clone(),
            adjust: options.adjust,
            recorder: options.samples.map(|folder| Arc::new(Recorder::new(folder))),
            judging: Arc::new(Semaphore::new(JUDGES)),
        };
        let mut upstreams = Vec::new();
        for upstream in options.upstreams {
            read_overlays(&site.contracts, &site.contracts_shown, upstream.name())?;
            if !names.insert(upstream.name().to_owned()) {
                return Err(GatewayError::DuplicateUpstream(upstream.name().to_owned()));
            }
            upstreams.push(Arc::new(Upstream::new(upstream, site.clone())));
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

    pub fn upstreams(&self) -> &[Arc<Upstream>] {
        &self.upstreams
    }

    /// Looks at all upstreams once, in parallel, each within its own time limit. Nothing is pinned.
    pub async fn survey(&self) {
        join_all(self.upstreams.iter().map(|upstream| upstream.look(Pinning::ReadOnly))).await;
    }

    /// As [`Gateway::survey`], but what is found is pinned, and what changed is kept as pending: as a running gateway
    /// does it.
    pub async fn pin(&self) {
        join_all(self.upstreams.iter().map(|upstream| upstream.look(Pinning::Write))).await;
    }

    /// Looks at all upstreams now and whenever they change, and publishes what may be called, until it is closed.
    pub fn keep(self: &Arc<Self>, pipeline: &Arc<Pipeline>) {
        let mut tasks = self.tasks.lock();
        keep::start(self, pipeline, &mut tasks, &self.stop);
    }

    /// Waits until every upstream has been looked at, at most for so long: one dead server delays nobody.
    pub async fn settle(&self, limit: Duration) {
        let all = join_all(self.upstreams.iter().map(|upstream| upstream.looked_at()));
        let _ = tokio::time::timeout(limit, all).await;
    }

    /// What may be called now, and the names that could not be given.
    pub fn catalog(&self) -> Result<(Catalog, Vec<Clash>), CatalogError> {
        lay_out((self.base)()?, &self.upstreams)
    }

    /// Serves what may be called now. [`Gateway::keep`] does it after every look; whoever waited for the first one does
    /// it once more, to be sure that it is served.
    pub fn publish(&self, pipeline: &Pipeline) {
        let mut known = self.publishing.lock();
        match self.catalog() {
            Ok((catalog, clashes)) => {
                for clash in clashes.iter().filter(|clash| !known.contains(clash)) {
                    tracing::error!("{clash}");
                }
                *known = clashes;
                pipeline.publish(catalog);
            }
            Err(error) => tracing::error!(%error, "the catalog stays as it was"),
        }
    }

    /// Whether others have changed the pins since this was asked last.
    pub(crate) fn lock_has_news(&self) -> bool {
        self.lock.has_news()
    }

    pub(crate) fn stamp(&self) -> Stamp {
        self.upstreams.iter().map(|upstream| upstream.overlays_stamp()).collect()
    }

    /// Ends every connection and every child. What was recorded of answers is on disk then.
    pub async fn close(&self) {
        self.stop.cancel();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        tasks.join_all().await;
        join_all(self.upstreams.iter().map(|upstream| upstream.link().close())).await;
        if let Some(recorder) = &self.recorder {
            recorder.flush().await;
        }
    }
}
