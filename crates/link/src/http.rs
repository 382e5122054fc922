//! Streamable HTTP: each request is a POST in the caller's own task, and its answer comes back on it.

mod answer;
mod dial;
mod listen;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use parking_lot::Mutex;
use reqwest::{Client, Response, Url};
use serde_json::value::RawValue;
use tokio::task::AbortHandle;

use crate::error::Fail;
use crate::flight::Flight;
use crate::session::{Request, aside};
use crate::{Endpoint, Era, LinkError, envelope, headers};

pub(crate) use answer::read_bounded;
pub(crate) use dial::{client, describe, endpoint};

pub(crate) const SESSION: &str = "mcp-session-id";
const PROTOCOL: &str = "mcp-protocol-version";

/// Of an answer that only says why something failed.
const MAX_ERROR_BODY: usize = 64 * 1024;

pub(crate) struct Http {
    pub(crate) flight: Arc<Flight>,
    line: Arc<Line>,
    tasks: Mutex<Vec<AbortHandle>>,
}

/// What every request needs; tasks of their own share it.
pub(crate) struct Line {
    client: Client,
    url: Url,
    headers: HeaderMap,
    session: OnceLock<HeaderValue>,
    /// The server does not know our session any more: there is nothing to say goodbye to.
    forgotten: AtomicBool,
}

impl Http {
    pub(crate) fn new(
        client: Client,
        target: &Endpoint,
        flight: Arc<Flight>,
    ) -> Result<Self, LinkError> {
        let (url, mut headers) = endpoint(target)?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let (session, forgotten) = (OnceLock::new(), AtomicBool::new(false));
        let line = Arc::new(Line { client, url, headers, session, forgotten });
        Ok(Self { flight, line, tasks: Mutex::default() })
    }

    pub(crate) async fn request(&self, request: Request<'_>) -> Result<Box<RawValue>, Fail> {
        let Request { id, method, body, protocol, name, headers: extra, listener, cancel } =
            request;
        let ticket = self.flight.enter(id, listener, None).map_err(Fail::Unsent)?;
        let era = protocol.map_or(Era::Handshake, |(_, era)| era);
        // In the stateless era closing the request is how it is cancelled.
        let cancel = cancel && era == Era::Handshake;
        let version = protocol.map(|(version, _)| version);
        let mut waiting = Waiting { line: &self.line, id, protocol: version, cancel };
        let mut headers = self.line.headers(version);
        if era == Era::Stateless {
            headers.insert("mcp-method", headers::value(method));
            if let Some(name) = name {
                headers.insert("mcp-name", headers::value(name));
            }
            for (name, value) in extra {
                headers.insert(name, value);
            }
        }
        let reply = self.exchange(id, headers, body, version).await;
        waiting.cancel = false;
        drop(ticket);
        reply
    }

    async fn exchange(
        &self,
        id: u64,
        headers: HeaderMap,
        body: Vec<u8>,
        version: Option<&str>,
    ) -> Result<Box<RawValue>, Fail> {
        let response = self.line.post(headers, body, &self.flight).await?;
        if let Some(session) = response.headers().get(SESSION)
            && version.is_none()
        {
            let mut session = session.clone();
            session.set_sensitive(true);
            let _ = self.line.session.set(session);
        }
        answer::read(self, response, id, version).await
    }

    pub(crate) async fn notify(&self, text: Vec<u8>, protocol: &str) -> Result<(), Fail> {
        self.line.post(self.line.headers(Some(protocol)), text, &self.flight).await.map(drop)
    }

    /// Ends the session at the server, where there is one.
    pub(crate) async fn goodbye(&self, protocol: &str) {
        let line = &self.line;
        if line.session.get().is_none() || line.forgotten.swap(true, Ordering::Relaxed) {
            return;
        }
        let headers = line.headers(Some(protocol));
        // A server need not take it.
        let _ = line.client.delete(line.url.clone()).headers(headers).send().await;
    }

    pub(crate) fn shut(&self) {
        for task in self.tasks.lock().drain(..) {
            task.abort();
        }
    }
}

impl Drop for Http {
    /// A link that is dropped rather than closed still frees the server's session, if anything still runs us.
    fn drop(&mut self) {
        let line = &self.line;
        if line.session.get().is_none() || line.forgotten.swap(true, Ordering::Relaxed) {
            return;
        }
        let delete = line.client.delete(line.url.clone()).headers(line.headers(None));
        aside(delete.send());
    }
}

impl Line {
    fn headers(&self, protocol: Option<&str>) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Some(session) = self.session.get() {
            headers.insert(SESSION, session.clone());
        }
        if let Some(protocol) = protocol {
            headers.insert(PROTOCOL, headers::value(protocol));
        }
        headers
    }

    /// The response, if it is a good one.
    async fn post(
        &self,
        headers: HeaderMap,
        body: Vec<u8>,
        flight: &Flight,
    ) -> Result<Response, Fail> {
        let sent = self.client.post(self.url.clone()).headers(headers).body(body).send().await;
        let response = sent.map_err(|error| describe(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let fail = refusal(response, self.session.get().is_some(), flight).await;
        if matches!(fail, Fail::Forgotten) {
            self.forgotten.store(true, Ordering::Relaxed);
        }
        Err(fail)
    }

    /// Has a question answered; `stream_of` as in [`Flight::ask`].
    fn ask(
        self: &Arc<Self>,
        question: envelope::Question<'_>,
        stream_of: Option<u64>,
        protocol: Option<&str>,
        flight: &Arc<Flight>,
    ) {
        let (line, headers, flight_too) = (self.clone(), self.headers(protocol), flight.clone());
        flight.ask(question, stream_of, async move |reply| {
            let _ = line.post(headers, reply, &flight_too).await;
        });
    }
}

/// What a response that is no success means.
pub(crate) async fn refusal(response: Response, with_session: bool, flight: &Flight) -> Fail {
    let status = response.status();
    let code = status.as_u16();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return LinkError::Unauthenticated { status: code }.into();
    }
    if with_session && status == StatusCode::NOT_FOUND {
        return Fail::Forgotten;
    }
    let body = read_bounded(response, MAX_ERROR_BODY).await.unwrap_or_default();
    if with_session && status == StatusCode::BAD_REQUEST && is_about_sessions(&body) {
        return Fail::Forgotten;
    }
    if let Some(envelope::Message::Answer { outcome: error @ envelope::Outcome::Error(_), .. }) =
        envelope::read(&body)
        && let Err(error) = flight.outcome(&error)
    {
        return error.into();
    }
    if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
        return LinkError::malformed(format!("it answers with HTTP {code}")).into();
    }
    let may_have_run = status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE;
    let reason = format!("it answers with HTTP {code}");
    LinkError::Unavailable { reason, may_have_run }.into()
}

/// Servers that lost a session say so with 404; some of the oldest and most used with 400 and these words. Whoever
/// answers a request by its id has read it, and speaks of other sessions.
fn is_about_sessions(body: &[u8]) -> bool {
    if let Some(envelope::Message::Answer { id: Some(_), .. }) = envelope::read(body) {
        return false;
    }
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    text.contains("session") && (text.contains("valid") || text.contains("not found"))
}

/// Dropped while it waits, it tells a server of the handshake era, to which a closed request says nothing.
struct Waiting<'a> {
    line: &'a Line,
    id: u64,
    protocol: Option<&'a str>,
    cancel: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.cancel {
            let line = self.line;
            let note = line.client.post(line.url.clone()).headers(line.headers(self.protocol));
            aside(note.body(envelope::cancelled(self.id)).send());
        }
    }
}
