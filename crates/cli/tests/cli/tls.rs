//! TLS of the real server: the handshake, clients that must fail, and new certificates.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rustix::process::Signal;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::support::{LIMIT, Project, Server, wait_until};

/// Replaces the certificate and its key, and returns the certificate.
fn replace_pair(project: &Project) -> CertificateDer<'static> {
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    replace_file(project, "key.pem", &pair.signing_key.serialize_pem());
    replace_file(project, "cert.pem", &pair.cert.pem());
    pair.cert.der().clone()
}

/// Replaces a file as a whole, as the programs that renew certificates do.
fn replace_file(project: &Project, name: &str, text: &str) {
    let (new, file) = (project.home.join("new.pem"), project.home.join(name));
    std::fs::write(&new, text).unwrap();
    project.set_mode(&new, 0o600);
    std::fs::rename(new, file).unwrap();
}

/// Sends a request over TLS and trusts only this certificate. Returns the response.
fn fetch(address: SocketAddr, trusted: &CertificateDer<'_>, path: &str) -> io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone().into_owned()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(LIMIT))?;
    let mut stream = StreamOwned::new(connection, socket);
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

fn start_server(project: &Project) -> Server {
    let file = |name| project.home.join(name).display().to_string();
    let (certificate, key) = (file("cert.pem"), file("key.pem"));
    let args = ["serve", "--port", "0", "--no-token", "--packs", "repo"];
    let tls = ["--tls-cert", &certificate, "--tls-key", &key];
    Server::start(project.command(&[&args[..], &tls].concat()))
}

#[test]
fn handshake_proves_the_certificate_and_a_new_one_is_used_without_a_restart() {
    let project = Project::new();
    let first = replace_pair(&project);
    let server = start_server(&project);
    assert!(server.banner.contains("https://"), "{}", server.banner);
    let health = |trusted: &CertificateDer<'_>| fetch(server.address, trusted, "/healthz");
    assert!(health(&first).unwrap().starts_with("HTTP/1.1 200"));
    let stranger = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let error = health(stranger.cert.der()).unwrap_err();
    assert!(error.to_string().contains("invalid peer certificate"), "{error}");
    let mut plain = TcpStream::connect(server.address).unwrap();
    plain.set_read_timeout(Some(LIMIT)).unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    // The end may be a reset.
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/"), "an answer without TLS");

    let second = replace_pair(&project);
    wait_until("the new certificate is used", || health(&second).is_ok());
    assert!(health(&first).is_err());
    // A pair that cannot be used changes nothing.
    replace_file(&project, "key.pem", "no key");
    wait_until("the failure is counted", || {
        let metrics = fetch(server.address, &second, "/metrics").unwrap();
        let failed = metrics
            .lines()
            .find_map(|line| line.strip_prefix("vouch_tls_reloads_total{result=\"failed\"} "));
        failed.is_some_and(|count| count != "0")
    });
    assert!(health(&second).unwrap().starts_with("HTTP/1.1 200"));
    server.signal(Signal::TERM);
    let (status, log) = server.wait();
    assert!(status.success(), "{status} {log}");
    assert!(log.contains("the previous one stays in use"), "{log}");
}
