//! Tests of TLS with real clients: certificates are replaced while the server runs.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use runtime::transports::http::{
    BearerTokens, HttpControl, HttpError, HttpLimits, HttpOptions, HttpTransport, TlsFiles,
};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::http::{NEVER, identity};
use crate::rig::Rig;

/// Time after which a wait has failed.
const PATIENCE: Duration = Duration::from_secs(60);

async fn stream_end(stream: &mut TcpStream, buffer: &mut [u8]) -> usize {
    stream.read(buffer).await.unwrap_or(0)
}

struct TlsServer {
    rig: Rig,
    folder: tempfile::TempDir,
    port: u16,
    control: HttpControl,
    options: HttpOptions,
    _stop: tokio_util::sync::DropGuard,
}

/// Writes a new certificate and key, and returns the certificate for the client's trust.
fn write_pair(folder: &Path) -> reqwest::Certificate {
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.join("cert.pem"), pair.cert.pem()).unwrap();
    write_key(folder, &pair.signing_key.serialize_pem(), 0o600);
    reqwest::Certificate::from_pem(pair.cert.pem().as_bytes()).unwrap()
}

fn write_key(folder: &Path, text: &str, mode: u32) {
    let key = folder.join("key.pem");
    std::fs::write(&key, text).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn tls_options(folder: &Path, header_timeout: Duration) -> HttpOptions {
    let mut options = HttpOptions::new(([127, 0, 0, 1], 0).into());
    options.tls =
        Some(TlsFiles { certificate: folder.join("cert.pem"), key: folder.join("key.pem") });
    options.limits = Arc::new(HttpLimits { header_timeout, ..HttpLimits::default() });
    options
}

impl TlsServer {
    async fn start() -> (Self, reqwest::Certificate) {
        Self::with_header_timeout(NEVER).await
    }

    async fn with_header_timeout(limit: Duration) -> (Self, reqwest::Certificate) {
        runtime::client::install_tls();
        let folder = tempfile::tempdir().unwrap();
        let certificate = write_pair(folder.path());
        let (rig, options) = (Rig::new().await, tls_options(folder.path(), limit));
        let transport =
            HttpTransport::bind(rig.pipeline.clone(), identity(), options.clone()).await.unwrap();
        let (port, control) = (transport.address().port(), transport.control());
        let stop = CancellationToken::new();
        tokio::spawn(transport.serve(stop.clone()));
        let server = Self { rig, folder, port, control, options, _stop: stop.drop_guard() };
        (server, certificate)
    }

    /// Sends a request on a new connection that trusts only this certificate. Returns the protocol version.
    async fn try_request(&self, trusted: &reqwest::Certificate) -> Option<reqwest::Version> {
        let client = reqwest::Client::builder().tls_certs_only([trusted.clone()]).build().unwrap();
        let reply = client.get(format!("https://localhost:{}/healthz", self.port)).send().await;
        let reply = reply.ok()?;
        assert_eq!(reply.status(), 200);
        Some(reply.version())
    }

    fn metrics(&self) -> String {
        self.rig.pipeline.metrics().render().unwrap()
    }
}

#[tokio::test]
async fn serves_http2_over_tls_and_refuses_plain_requests() {
    let (server, certificate) = TlsServer::start().await;
    assert_eq!(server.try_request(&certificate).await, Some(reqwest::Version::HTTP_2));
    let stranger = write_pair(tempfile::tempdir().unwrap().path());
    assert_eq!(server.try_request(&stranger).await, None);
    let plain = reqwest::get(format!("http://localhost:{}/healthz", server.port)).await;
    assert!(plain.is_err());
}

#[tokio::test]
async fn stalled_handshake_ends_at_the_time_limit_of_headers() {
    let (server, certificate) = TlsServer::with_header_timeout(Duration::from_secs(2)).await;
    let mut stranger = TcpStream::connect(("127.0.0.1", server.port)).await.unwrap();
    let mut buffer = [0; 16];
    let end = tokio::time::timeout(PATIENCE, stream_end(&mut stranger, &mut buffer)).await;
    assert!(end.is_ok_and(|count| count == 0), "the handshake does not end");
    assert!(server.metrics().contains("{reason=\"header_timeout\"} 1"));
    // The limit may pass during a handshake if the machine is busy.
    let start = std::time::Instant::now();
    while server.try_request(&certificate).await.is_none() {
        assert!(start.elapsed() < PATIENCE, "no handshake succeeds");
    }
}

#[tokio::test]
async fn changed_files_are_loaded_and_a_bad_pair_is_not() {
    let (server, first) = TlsServer::start().await;
    let folder = server.folder.path();
    let good_key = std::fs::read_to_string(folder.join("key.pem")).unwrap();
    // A key that does not belong to the certificate.
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    write_key(folder, &other.signing_key.serialize_pem(), 0o600);
    let start = std::time::Instant::now();
    while !server.metrics().contains("vouch_tls_reloads_total{result=\"failed\"} 1") {
        assert!(start.elapsed() < PATIENCE, "the failure is not reported");
        tokio::task::yield_now().await;
    }
    assert!(server.try_request(&first).await.is_some());
    write_key(folder, &good_key, 0o600);
    let second = write_pair(folder);
    let start = std::time::Instant::now();
    while server.try_request(&second).await.is_none() {
        assert!(start.elapsed() < PATIENCE, "the new certificate is not used");
        tokio::task::yield_now().await;
    }
    assert!(server.try_request(&first).await.is_none());
}

#[tokio::test]
async fn replaced_options_apply_as_a_whole_or_not_at_all() {
    let (server, certificate) = TlsServer::start().await;
    let mut options = server.options.clone();
    options.tokens = BearerTokens::parse("ci 0123456789abcdef").unwrap();
    let good_key = std::fs::read_to_string(server.folder.path().join("key.pem")).unwrap();
    write_key(server.folder.path(), "no key", 0o600);
    assert!(matches!(server.control.replace_options(options.clone()), Err(HttpError::Tls(_))));
    let client = reqwest::Client::builder().tls_certs_only([certificate.clone()]).build().unwrap();
    let list = || client.get(format!("https://localhost:{}/v1/tools", server.port)).send();
    assert_eq!(list().await.unwrap().status(), 200);
    write_key(server.folder.path(), &good_key, 0o600);
    server.control.replace_options(options).unwrap();
    assert_eq!(list().await.unwrap().status(), 401);
}

#[tokio::test]
async fn key_that_others_can_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_pair(folder.path());
    let key = folder.path().join("key.pem");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    let rig = Rig::new().await;
    let refused =
        HttpTransport::bind(rig.pipeline.clone(), identity(), tls_options(folder.path(), NEVER))
            .await;
    let Err(error @ HttpError::Tls(_)) = refused else { panic!("a key for others was accepted") };
    assert!(contract::text::error_chain(&error).contains("640"), "{error:?}");
}
