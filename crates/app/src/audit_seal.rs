//! Seals the audit log: creates signed checkpoints and delivers them to files, folders and HTTP endpoints, by hand or on a
//! schedule while a server runs.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use store::audit::{
    CheckpointKey, CheckpointSigner, SignedCheckpoint, append_checkpoint, read_log_length,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::{SealTarget, Settings};
use crate::failure::{Failure, FailureExt, Result};
use crate::project::{audit_key_location, audit_log_path};

/// Maximum time of one delivery to an endpoint.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval at which the size of the log is compared with `every_bytes`.
const SIZE_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum time of the last checkpoint, when a server ends.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// A delivered checkpoint.
#[derive(Debug, Serialize)]
pub struct Delivery {
    /// The file or URL.
    pub target: String,
}

/// Returns the public key of the project's checkpoints. The signing key is created if it is missing.
pub fn load_public_key(settings: &Settings) -> Result<CheckpointKey> {
    Ok(open_signer(settings)?.public_key())
}

/// Returns the public key, or `None` if no signing key exists on this machine.
pub fn find_public_key(settings: &Settings) -> Result<Option<CheckpointKey>> {
    let key_file = settings.audit.seal.key_file.as_deref();
    let signer = CheckpointSigner::open(audit_key_location(settings), key_file)?;
    Ok(signer.map(|signer| signer.public_key()))
}

/// Signs a checkpoint of the project's log and of other logs.
pub fn create_checkpoint(settings: &Settings, others: &[PathBuf]) -> Result<SignedCheckpoint> {
    let own = audit_log_path(settings);
    let logs: Vec<_> = std::iter::once(own).chain(others.iter().cloned()).collect();
    let disk = crate::project::audit_options(settings).disk;
    Ok(open_signer(settings)?.seal(&logs, &*disk)?)
}

/// Delivers a checkpoint to a target.
pub async fn deliver_checkpoint(
    settings: &Settings,
    checkpoint: &SignedCheckpoint,
    target: &SealTarget,
) -> Result<Delivery> {
    match target {
        SealTarget::Path(path) => {
            let disk = crate::project::audit_options(settings).disk;
            let file = append_checkpoint(path, checkpoint, &*disk)?;
            Ok(Delivery { target: file.display().to_string() })
        }
        SealTarget::Url(url) => {
            post_checkpoint(&url.0, checkpoint).await?;
            Ok(Delivery { target: url.0.clone() })
        }
    }
}

fn open_signer(settings: &Settings) -> Result<CheckpointSigner> {
    let key_file = settings.audit.seal.key_file.as_deref();
    Ok(CheckpointSigner::open_or_create(audit_key_location(settings), key_file)?)
}

async fn post_checkpoint(url: &str, checkpoint: &SignedCheckpoint) -> Result {
    let failed = format!("failed to send the checkpoint to {url}");
    // `rustls` needs a process-wide crypto provider; an error means that one is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // A redirect could lead to a place that was not configured.
    let client = reqwest::Client::builder()
        .timeout(DELIVERY_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .explain(&failed)?;
    let request = client.post(url).header("content-type", "application/json");
    // The body of the answer is not read.
    let response = request.body(checkpoint.to_line()).send().await.explain(&failed)?;
    let status = response.status();
    match status.is_success() {
        true => Ok(()),
        false => Err(Failure::new(format!("{failed}: the endpoint answered {status}"))),
    }
}

/// Seals the log on the configured schedule until `stop` is cancelled, and once more then. Returns at once if no target is
/// configured. Failures are logged and retried at the next time.
pub async fn seal_on_schedule(settings: &Settings, stop: CancellationToken) {
    let seal = &settings.audit.seal;
    if seal.to.is_empty() {
        return;
    }
    let log = audit_log_path(settings);
    let mut sealed_bytes = read_log_length(&log);
    let mut due = Instant::now() + seal.every;
    loop {
        let is_stopped = tokio::select! {
            () = stop.cancelled() => true,
            () = tokio::time::sleep_until(due.min(Instant::now() + SIZE_INTERVAL)) => false,
        };
        let bytes = read_log_length(&log);
        // A shorter file is a new one.
        let grown = bytes.checked_sub(sealed_bytes).unwrap_or(bytes);
        let is_large = seal.every_bytes.is_some_and(|limit| grown >= limit);
        if is_stopped {
            // The server must end in time; what is not delivered now is sealed at the next start.
            let _ = tokio::time::timeout(STOP_TIMEOUT, seal_once(settings)).await;
            return;
        }
        if is_large || Instant::now() >= due {
            seal_once(settings).await;
            (sealed_bytes, due) = (bytes, Instant::now() + seal.every);
        }
    }
}

async fn seal_once(settings: &Settings) {
    let create = || -> Result<_> {
        let (signer, log) = (open_signer(settings)?, audit_log_path(settings));
        let disk = crate::project::audit_options(settings).disk;
        // The whole current file is hashed, which would block the threads that serve connections.
        Ok(tokio::task::spawn_blocking(move || signer.seal(&[log], &*disk)))
    };
    let checkpoint = match create() {
        Ok(task) => task.await.map_err(Failure::from).and_then(|sealed| Ok(sealed?)),
        Err(failure) => Err(failure),
    };
    let checkpoint = match checkpoint {
        Ok(checkpoint) => checkpoint,
        Err(failure) => {
            tracing::error!(error = failure.to_one_line(), "failed to seal the audit log");
            return;
        }
    };
    for target in &settings.audit.seal.to {
        if let Err(failure) = deliver_checkpoint(settings, &checkpoint, target).await {
            let error = failure.to_one_line();
            tracing::error!(error, "failed to deliver a checkpoint of the audit log");
        }
    }
}
