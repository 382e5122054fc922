//! Checks of `/readyz` that need more than the pipeline: the disk, the upstreams and the last reload.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use disk::{Disk, SystemDisk};
use gateway::Gateway;
use link::ConnectionStatus;
use parking_lot::RwLock;
use runtime::transports::http::{CheckResult, ReadinessCheck};

/// Bytes of the trial write: more than the records of one call.
const TRIAL_BYTES: usize = 64 * 1024;

/// Writes a file to the state folder and removes it.
pub(crate) struct DiskCheck {
    folder: PathBuf,
}

impl DiskCheck {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }
}

#[async_trait]
impl ReadinessCheck for DiskCheck {
    fn name(&self) -> &'static str {
        "disk"
    }

    async fn check(&self) -> CheckResult {
        let folder = self.folder.clone();
        let written = runtime::spawn_blocking(move || try_write(&folder)).await;
        match written {
            Ok(Ok(())) => CheckResult::Ok,
            Ok(Err(error)) => {
                tracing::debug!(%error, "trial write failed");
                CheckResult::Failed(match error.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "full",
                    io::ErrorKind::ReadOnlyFilesystem => "read-only",
                    _ => "not writable",
                })
            }
            Err(_) => CheckResult::Failed("failing"),
        }
    }
}

fn try_write(folder: &Path) -> io::Result<()> {
    // Removed at the end in every case.
    let mut file = tempfile::Builder::new().prefix(".ready-").tempfile_in(folder)?;
    file.write_all(&[0; TRIAL_BYTES])?;
    SystemDisk.sync_data(file.as_file())
}

/// Checks that the required upstreams are connected.
pub(super) struct UpstreamCheck {
    /// The gateway that serves now, and the names of its required upstreams.
    pub(super) serving: Arc<RwLock<(Arc<Gateway>, Vec<String>)>>,
}

#[async_trait]
impl ReadinessCheck for UpstreamCheck {
    fn name(&self) -> &'static str {
        "upstreams"
    }

    async fn check(&self) -> CheckResult {
        let serving = self.serving.read();
        let (gateway, required) = &*serving;
        let is_down = |name: &String| {
            let upstream = gateway.upstreams().iter().find(|one| one.name() == name);
            !upstream.is_some_and(|one| {
                matches!(one.connection().status(), ConnectionStatus::Connected(_))
            })
        };
        if required.iter().any(is_down) {
            CheckResult::Failed("not connected")
        } else {
            CheckResult::Ok
        }
    }
}

/// Reports a reload that failed. The server goes on with its previous configuration.
#[derive(Default)]
pub(super) struct ConfigurationCheck {
    pub(super) is_rejected: AtomicBool,
}

#[async_trait]
impl ReadinessCheck for ConfigurationCheck {
    fn name(&self) -> &'static str {
        "configuration"
    }

    async fn check(&self) -> CheckResult {
        match self.is_rejected.load(Ordering::Relaxed) {
            true => CheckResult::Degraded("new configuration rejected"),
            false => CheckResult::Ok,
        }
    }
}
