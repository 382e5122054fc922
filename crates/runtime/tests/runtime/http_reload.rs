//! Tests of settings that are replaced while the server runs: tokens, hosts, and the sessions of revoked tokens.

use std::time::{Duration, Instant};

use runtime::transports::http::{BearerTokens, HttpControl, HttpError, HttpOptions, HttpTransport};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::http::identity;
use crate::rig::Rig;

const ANN: &str = "a123456789abcdef";
const BEN: &str = "b123456789abcdef";
const NEW: &str = "n123456789abcdef";

fn options(tokens: &str) -> HttpOptions {
    let mut options = HttpOptions::new(([127, 0, 0, 1], 0).into());
    options.tokens = BearerTokens::parse(tokens).unwrap();
    options
}

struct ReloadedServer {
    rig: Rig,
    url: String,
    control: HttpControl,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<Result<(), HttpError>>,
    client: reqwest::Client,
}

impl ReloadedServer {
    async fn start() -> Self {
        runtime::client::install_tls();
        let rig = Rig::new().await;
        let options = options(&format!("ann {ANN}\nben {BEN}"));
        let transport =
            HttpTransport::bind(rig.pipeline.clone(), identity(), options).await.unwrap();
        let (url, control) = (format!("http://{}", transport.address()), transport.control());
        let stop = CancellationToken::new();
        let running = tokio::spawn(transport.serve(stop.clone()));
        Self { rig, url, control, stop, running, client: reqwest::Client::new() }
    }

    async fn status(&self, token: Option<&str>, host: Option<&str>) -> u16 {
        let mut request = self.client.get(format!("{}/v1/tools", self.url));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(host) = host {
            request = request.header("host", host);
        }
        request.send().await.unwrap().status().as_u16()
    }

    /// Opens a session and returns its id.
    async fn initialize(&self, token: &str) -> String {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }});
        let request = self.mcp(token).body(hello.to_string());
        let reply = request.send().await.unwrap();
        reply.headers()["mcp-session-id"].to_str().unwrap().to_owned()
    }

    fn mcp(&self, token: &str) -> reqwest::RequestBuilder {
        self.client
            .post(format!("{}/mcp", self.url))
            .bearer_auth(token)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
    }

    async fn ping(&self, token: &str, session: &str) -> u16 {
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let request = self.mcp(token).header("mcp-session-id", session).body(ping.to_string());
        request.send().await.unwrap().status().as_u16()
    }
}

#[tokio::test]
async fn replaced_tokens_apply_to_the_next_request() {
    let server = ReloadedServer::start().await;
    assert_eq!(server.status(Some(ANN), None).await, 200);
    assert_eq!(server.status(Some(NEW), None).await, 401);
    let (hers, his) = (server.initialize(ANN).await, server.initialize(BEN).await);
    assert_eq!((server.ping(ANN, &hers).await, server.ping(BEN, &his).await), (200, 200));

    // Ann's token is replaced, and Ben's is revoked.
    let mut next = options(&format!("ann {NEW}"));
    next.allowed_hosts.push("vouch.example".into());
    assert_eq!(server.status(Some(NEW), Some("vouch.example")).await, 403);
    server.control.replace_options(next).unwrap();
    for revoked in [ANN, BEN] {
        assert_eq!(server.status(Some(revoked), None).await, 401);
    }
    assert_eq!(server.status(None, None).await, 401);
    assert_eq!(server.status(Some(NEW), Some("vouch.example")).await, 200);
    assert_eq!(server.status(Some(NEW), Some("evil.example")).await, 403);

    // Ben's session ends, and Ann's is still hers.
    let limit = Instant::now() + Duration::from_secs(30);
    let sessions = || {
        let metrics = server.rig.pipeline.metrics().render().unwrap();
        let line = metrics.lines().find(|line| line.starts_with("vouch_sessions_open "));
        line.map(str::to_owned).unwrap_or_default()
    };
    while sessions() != "vouch_sessions_open 1" {
        assert!(Instant::now() < limit, "{}", sessions());
        tokio::task::yield_now().await;
    }
    assert_eq!(server.ping(NEW, &hers).await, 200);
    assert_eq!(server.ping(NEW, &his).await, 404);
    // The session does not return with the token.
    server.control.replace_options(options(&format!("ann {NEW}\nben {BEN}"))).unwrap();
    assert_eq!(server.ping(BEN, &his).await, 404);
    server.stop.cancel();
    server.running.await.unwrap().unwrap();
}

/// Nothing is served beyond loopback: the socket only listens.
#[tokio::test]
async fn token_is_required_beyond_loopback_at_any_time() {
    let rig = Rig::new().await;
    let without = || HttpOptions::new(([0, 0, 0, 0], 0).into());
    let with =
        || HttpOptions { address: ([0, 0, 0, 0], 0).into(), ..options(&format!("ann {ANN}")) };
    let transport = HttpTransport::bind(rig.pipeline.clone(), identity(), with()).await.unwrap();
    let refused = transport.control().replace_options(without());
    assert!(matches!(refused, Err(HttpError::TokenRequired(_))), "{refused:?}");
    // The address is that of the socket, whatever the new settings say.
    let refused = transport.control().replace_options(HttpOptions::new(([127, 0, 0, 1], 0).into()));
    assert!(matches!(refused, Err(HttpError::TokenRequired(_))), "{refused:?}");
    transport.control().replace_options(with()).unwrap();

    // A socket that was passed in counts, not the address in the settings.
    let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let loopback = HttpOptions::new(([127, 0, 0, 1], 0).into());
    let taken = HttpTransport::from_listener(rig.pipeline.clone(), identity(), loopback, listener);
    assert!(matches!(taken, Err(HttpError::TokenRequired(_))));
}
