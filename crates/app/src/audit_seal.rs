//! Seals the audit log: creates signed checkpoints and delivers them to files, folders and HTTP endpoints, by hand or on a
//! schedule while a server runs.
//!
//! A checkpoint that a target did not get is kept, and every later delivery to that target begins with it.

mod schedule;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use disk::Disk;
use store::StoreError;
use store::audit::{
    AuditKeyLocation, CheckpointKey, CheckpointQueue, CheckpointSigner, DeliveryLock,
    SignedCheckpoint, append_checkpoint, read_log_growth,
};
use tokio::task::JoinSet;
use tokio::time::Instant;

pub use self::schedule::{SealPlan, seal_on_schedule};
use crate::config::{SealTarget, Settings};
use crate::failure::{Failure, FailureExt, Result};
use crate::project::{audit_key_location, audit_log_path, audit_options};

/// Maximum time of one delivery to an endpoint.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum wait for another process that delivers.
const LOCK_TIMEOUT: Duration = Duration::from_secs(15);
/// Interval between attempts to take the lock of deliveries.
const LOCK_INTERVAL: Duration = Duration::from_millis(100);

/// Returns the public key of the project's checkpoints. The signing key is created if it is missing.
pub fn load_public_key(settings: &Settings) -> Result<CheckpointKey> {
    Ok(AuditSealer::from_settings(settings).open_signer()?.public_key())
}

/// Returns the public key, or `None` if no signing key exists on this machine.
pub fn find_public_key(settings: &Settings) -> Result<Option<CheckpointKey>> {
    let key_file = settings.audit.seal.key_file.as_deref();
    let signer = CheckpointSigner::open(audit_key_location(settings), key_file)?;
    Ok(signer.map(|signer| signer.public_key()))
}

/// The result of a delivery to one target.
#[derive(Debug)]
pub struct Delivery {
    /// The file, folder or URL.
    pub target: String,
    /// The number of delivered checkpoints.
    pub result: Result<usize>,
}

/// What is sealed, with which key, and for whom.
#[derive(Clone, Debug)]
pub struct AuditSealer {
    log: PathBuf,
    /// Other logs that a checkpoint names too.
    others: Vec<PathBuf>,
    keys: AuditKeyLocation,
    key_file: Option<PathBuf>,
    targets: Vec<SealTarget>,
    disk: Arc<dyn Disk>,
}

/// What was sealed and delivered so far.
struct SealState {
    last: Option<SignedCheckpoint>,
    /// Bytes that the logs grew since the last checkpoint. `None` if a part of them was removed.
    growth: Option<u64>,
    /// Number of deliveries that are due.
    undelivered: usize,
}

impl AuditSealer {
    /// Returns a sealer of a log for some targets.
    pub fn new(log: PathBuf, keys: AuditKeyLocation, targets: Vec<SealTarget>) -> Self {
        let disk = disk::system_disk();
        Self { log, others: vec![], keys, key_file: None, targets, disk }
    }

    /// Returns the sealer that the configuration describes.
    pub fn from_settings(settings: &Settings) -> Self {
        let seal = &settings.audit.seal;
        Self {
            others: seal.logs.clone(),
            key_file: seal.key_file.clone(),
            disk: audit_options(settings).disk,
            ..Self::new(
                audit_log_path(settings),
                audit_key_location(settings).clone(),
                seal.to.clone(),
            )
        }
    }

    /// Adds logs that a checkpoint names too.
    pub fn with_logs(mut self, logs: &[PathBuf]) -> Self {
        self.others.extend_from_slice(logs);
        self
    }

    /// Adds targets, which get this checkpoint and those after it.
    pub fn with_targets(mut self, targets: &[SealTarget]) -> Self {
        self.targets.extend_from_slice(targets);
        self
    }

    /// Signs a checkpoint and stores it for delivery. Errors if one of the logs cannot be sealed.
    pub fn create_checkpoint(&self) -> Result<SignedCheckpoint> {
        let signer = self.prepare()?;
        let logs: Vec<_> = std::iter::once(&self.log).chain(&self.others).cloned().collect();
        Ok(signer.seal(&logs, &*self.disk)?)
    }

    /// Signs a checkpoint like [`AuditSealer::create_checkpoint`], without the other logs that cannot be sealed. Logs why.
    fn create_partial_checkpoint(&self) -> Result<SignedCheckpoint> {
        let (checkpoint, left_out) =
            self.prepare()?.seal_readable(&self.log, &self.others, &*self.disk)?;
        for error in left_out {
            let error = Failure::from(error).to_one_line();
            tracing::error!(error, "a checkpoint leaves out a log of `logs` in [audit.seal]");
        }
        Ok(checkpoint)
    }

    fn prepare(&self) -> Result<CheckpointSigner> {
        let targets: Vec<_> = self.targets.iter().map(ToString::to_string).collect();
        self.queue().add_targets(&targets)?;
        self.open_signer()
    }

    fn open_signer(&self) -> Result<CheckpointSigner> {
        let key_file = self.key_file.as_deref();
        Ok(CheckpointSigner::open_or_create_on_disk(&self.keys, key_file, &*self.disk)?)
    }

    fn queue(&self) -> CheckpointQueue<'_> {
        CheckpointQueue::new(&self.keys, &*self.disk)
    }

    /// Reads what was sealed and delivered so far.
    fn inspect(&self) -> Result<SealState> {
        let (last, mut growth) = (self.queue().read_last()?, Some(0));
        for log in std::iter::once(&self.log).chain(&self.others) {
            let bytes = read_log_growth(log, last.as_ref())?;
            growth = growth.zip(bytes).map(|(sum, bytes)| sum + bytes);
        }
        Ok(SealState { last, growth, undelivered: self.count_undelivered()? })
    }

    fn count_undelivered(&self) -> Result<usize> {
        let queue = self.queue();
        let counts = self.targets.iter().map(|target| queue.list_undelivered(&target.to_string()));
        let counts = counts.map(|waiting| waiting.map(|waiting| waiting.len()));
        Ok(counts.sum::<std::result::Result<usize, StoreError>>()?)
    }

    /// Delivers to each of these targets what it has not got, oldest first. A target that fails does not delay the others.
    ///
    /// Errors if another process delivers for too long.
    pub async fn deliver(&self, targets: &[SealTarget]) -> Result<Vec<Delivery>> {
        let _lock = self.lock_delivery().await?;
        let mut tasks = JoinSet::new();
        for (at, target) in targets.iter().enumerate() {
            let (sealer, target) = (self.clone(), target.clone());
            tasks.spawn(async move {
                let result = sealer.deliver_to(&target).await;
                (at, Delivery { target: target.to_string(), result })
            });
        }
        let mut deliveries = tasks.join_all().await;
        deliveries.sort_by_key(|(at, _)| *at);
        Ok(deliveries.into_iter().map(|(_, delivery)| delivery).collect())
    }

    async fn lock_delivery(&self) -> Result<DeliveryLock> {
        let give_up = Instant::now() + LOCK_TIMEOUT;
        loop {
            if let Some(lock) = self.queue().try_lock_delivery()? {
                return Ok(lock);
            }
            if Instant::now() >= give_up {
                let message = "failed to deliver checkpoints: another process is delivering";
                return Err(Failure::new(message).with_hint(
                    "wait until it is done: each delivery includes the checkpoints that wait",
                ));
            }
            tokio::time::sleep(LOCK_INTERVAL).await;
        }
    }

    /// Delivers what a target has not got. Returns the number of delivered checkpoints.
    async fn deliver_to(&self, target: &SealTarget) -> Result<usize> {
        let name = target.to_string();
        let waiting = {
            let name = name.clone();
            self.run_blocking(move |sealer| Ok(sealer.queue().list_undelivered(&name)?)).await?
        };
        if waiting.is_empty() {
            return Ok(0);
        }
        let client = match target {
            SealTarget::Url(_) => Some(self.run_blocking(|_| build_client()).await?),
            SealTarget::Path(_) => None,
        };
        let count = waiting.len();
        for checkpoint in waiting {
            if let (SealTarget::Url(url), Some(client)) = (target, &client) {
                post_checkpoint(client, &url.0, &checkpoint).await?;
            }
            let (name, target) = (name.clone(), target.clone());
            self.run_blocking(move |sealer| {
                if let SealTarget::Path(path) = &target {
                    append_checkpoint(path, &checkpoint, &*sealer.disk)?;
                }
                Ok(sealer.queue().record_delivery(&name, &checkpoint)?)
            })
            .await?;
        }
        Ok(count)
    }

    /// Runs code that reads or writes files, away from the threads that serve connections.
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let sealer = self.clone();
        runtime::spawn_blocking(move || work(&sealer)).await?
    }
}

fn build_client() -> Result<reqwest::Client> {
    // `rustls` needs a process-wide crypto provider; an error means that one is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // A redirect could lead to a place that was not configured.
    reqwest::Client::builder()
        .timeout(DELIVERY_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .explain("failed to prepare the delivery of checkpoints")
}

async fn post_checkpoint(
    client: &reqwest::Client,
    url: &str,
    checkpoint: &SignedCheckpoint,
) -> Result {
    let number = checkpoint.checkpoint.number;
    let failed = format!("failed to send checkpoint {number} to {url}");
    let request = client.post(url).header("content-type", "application/json");
    // The body of the answer is not read.
    let response = request.body(checkpoint.to_line()).send().await.explain(&failed)?;
    let status = response.status();
    match status.is_success() {
        true => Ok(()),
        false => Err(Failure::new(format!("{failed}: the endpoint answered {status}"))),
    }
}
