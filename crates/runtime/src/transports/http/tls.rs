//! TLS: loads the certificate and its key, and replaces them while the server runs.
//!
//! A new pair that cannot be used changes nothing: connections are accepted with the previous one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use store::read_private_file;
use tokio_rustls::TlsAcceptor;

use crate::metrics::ServerMetrics;

/// Interval for checking whether the files changed.
const FILE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Protocols offered to clients, in the order of preference.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The files of a certificate with its chain, and of its private key, in PEM format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    /// Must be readable by its owner only.
    pub key: PathBuf,
}

/// An error of a certificate or its key.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("failed to read {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("failed to use the private key")]
    PrivateKey(#[source] store::PrivateFileError),
    #[error("invalid PEM in {}", path.display())]
    Pem { path: PathBuf, source: rustls::pki_types::pem::Error },
    #[error("no certificate found in {}", path.display())]
    NoCertificate { path: PathBuf },
    #[error("failed to use {} with its key", certificate.display())]
    Unusable { certificate: PathBuf, source: rustls::Error },
}

/// The certificate in use.
pub(super) struct TlsIdentity {
    current: RwLock<Option<LoadedTls>>,
}

#[derive(Clone)]
struct LoadedTls {
    files: TlsFiles,
    acceptor: TlsAcceptor,
    stamp: FileStamps,
}

/// What is compared to notice a change of the two files.
type FileStamps = [Option<(SystemTime, u64)>; 2];

impl TlsIdentity {
    /// Loads the files, if there are any.
    pub(super) fn load(files: Option<&TlsFiles>) -> Result<Self, TlsError> {
        let current = files.map(LoadedTls::load).transpose()?;
        Ok(Self { current: RwLock::new(current) })
    }

    /// Returns the acceptor for a new connection, or `None` without TLS.
    pub(super) fn acceptor(&self) -> Option<TlsAcceptor> {
        self.current.read().as_ref().map(|loaded| loaded.acceptor.clone())
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.current.read().is_some()
    }

    /// Loads other files, or the same files again. An error changes nothing.
    pub(super) fn replace(&self, files: Option<&TlsFiles>) -> Result<(), TlsError> {
        let new = Self::load(files)?.current.into_inner();
        *self.current.write() = new;
        Ok(())
    }

    /// Reloads the files whenever they change. Never returns.
    pub(super) async fn follow_files(&self, metrics: &ServerMetrics) {
        let mut seen = None;
        loop {
            tokio::time::sleep(FILE_CHECK_INTERVAL).await;
            let loaded = self.current.read().clone();
            let Some(loaded) = loaded else { continue };
            let stamp = read_stamps(&loaded.files);
            // The two files are not replaced at the same time, so a change counts once it has settled.
            let is_settled = seen.replace(stamp) == Some(stamp);
            if stamp == loaded.stamp || !is_settled {
                continue;
            }
            let result = self.replace(Some(&loaded.files));
            metrics.record_tls_reload(result.is_ok());
            match result {
                Ok(()) => tracing::info!("certificate reloaded"),
                Err(error) => {
                    let error = contract::text::error_chain(&error);
                    tracing::error!(
                        error,
                        "failed to reload the certificate; the previous one stays in use"
                    );
                    // Not again before the next change.
                    if let Some(loaded) = self.current.write().as_mut() {
                        loaded.stamp = stamp;
                    }
                }
            }
        }
    }
}

impl LoadedTls {
    fn load(files: &TlsFiles) -> Result<Self, TlsError> {
        // Taken before reading, so that a change in between is noticed.
        let stamp = read_stamps(files);
        let config = load_config(files)?;
        Ok(Self { files: files.clone(), acceptor: TlsAcceptor::from(config), stamp })
    }
}

fn load_config(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let TlsFiles { certificate, key } = files;
    let text = std::fs::read(certificate)
        .map_err(|source| TlsError::Read { path: certificate.clone(), source })?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.map_err(|source| TlsError::Pem { path: certificate.clone(), source })?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate { path: certificate.clone() });
    }
    let text = read_private_file(key).map_err(TlsError::PrivateKey)?;
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes())
        .map_err(|source| TlsError::Pem { path: key.clone(), source })?;
    let unusable = |source| TlsError::Unusable { certificate: certificate.clone(), source };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let mut config =
        builder.with_no_client_auth().with_single_cert(chain, key).map_err(unusable)?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(Arc::new(config))
}

fn read_stamps(files: &TlsFiles) -> FileStamps {
    let stamp = |path: &Path| {
        let metadata = path.metadata().ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    [stamp(&files.certificate), stamp(&files.key)]
}
