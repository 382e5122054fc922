//! What a server says without being asked: the GET stream of the handshake era, `subscriptions/listen` since 2026-07-28.

use std::sync::Arc;
use std::time::Duration;

use http::header::ACCEPT;
use http::{HeaderValue, StatusCode};
use reqwest::Response;
use serde_json::json;

use super::answer::is_stream;
use super::{Http, Line, describe, refusal};
use crate::envelope::{self, Message};
use crate::error::Fail;
use crate::events::Events;
use crate::flight::Flight;
use crate::session::Meta;
use crate::{Abilities, Era, LinkError, headers};
use tokio::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(30);

impl Http {
    /// Listens in the background for as long as the session lasts. A server that does not offer it is left alone.
    pub(crate) fn listen(&self, protocol: &str, era: Era) {
        let (line, flight, protocol) =
            (self.line.clone(), self.flight.clone(), protocol.to_owned());
        let task = tokio::spawn(async move {
            let mut pause = FIRST_PAUSE;
            let mut was_deaf = false;
            loop {
                let opened = match era {
                    Era::Handshake => line.open_stream(&protocol, &flight).await,
                    Era::Stateless => line.subscribe(&protocol, &flight).await,
                };
                match opened {
                    Ok(Some(response)) => {
                        // What was said in between was said to nobody.
                        if was_deaf {
                            flight.context.note_change();
                        }
                        let opened = Instant::now();
                        follow(&line, &flight, &protocol, response).await;
                        // A server that ends each stream at once is asked ever less often.
                        if opened.elapsed() > MAX_PAUSE {
                            pause = FIRST_PAUSE;
                        }
                    }
                    Ok(None) => return,
                    // The next call, or the attempt in the background, opens a new session.
                    Err(Fail::Forgotten | Fail::Unsent(_)) => {
                        flight.close(&LinkError::unreachable("it went away"));
                        return;
                    }
                    Err(Fail::Final(_)) => {}
                }
                was_deaf = true;
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
        });
        self.tasks.lock().push(task.abort_handle());
    }
}

impl Line {
    /// None: the server has no such stream.
    async fn open_stream(&self, protocol: &str, flight: &Flight) -> Result<Option<Response>, Fail> {
        let mut headers = self.headers(Some(protocol));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let sent = self.client.get(self.url.clone()).headers(headers).send().await;
        let response = sent.map_err(|error| describe(&error))?;
        match response.status() {
            status if status.is_success() => Ok(Some(response).filter(is_stream)),
            StatusCode::NOT_FOUND if self.session.get().is_some() => Err(Fail::Forgotten),
            status if status.is_client_error() => Ok(None),
            _ => Err(refusal(response, self.session.get().is_some(), flight).await),
        }
    }

    /// The rest of a stream that broke.
    pub(super) async fn take_up(
        &self,
        last: &str,
        version: Option<&str>,
    ) -> Result<Response, Fail> {
        let mut headers = self.headers(version);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert("last-event-id", headers::value(last));
        let sent = self.client.get(self.url.clone()).headers(headers).send().await;
        match sent {
            Ok(response) if response.status().is_success() && is_stream(&response) => Ok(response),
            _ => Err(LinkError::lost("the stream ended before the answer").into()),
        }
    }

    async fn subscribe(&self, protocol: &str, flight: &Flight) -> Result<Option<Response>, Fail> {
        const METHOD: &str = "subscriptions/listen";
        let params = json!({
            "notifications": { "toolsListChanged": true },
            "_meta": Meta::new(protocol, Abilities::default()),
        });
        let mut headers = self.headers(Some(protocol));
        headers.insert("mcp-method", HeaderValue::from_static(METHOD));
        let id = flight.context.next_id();
        match self.post(headers, envelope::request(id, METHOD, params), flight).await {
            Ok(response) => Ok(Some(response).filter(is_stream)),
            Err(Fail::Final(LinkError::Rejected { .. } | LinkError::Malformed { .. })) => Ok(None),
            Err(fail) => Err(fail),
        }
    }
}

async fn follow(line: &Arc<Line>, flight: &Arc<Flight>, protocol: &str, mut response: Response) {
    let mut events = Events::new(flight.context.bounds.max_message_bytes);
    let mut ready = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        if events.push(&chunk, &mut ready).is_err() {
            return;
        }
        for event in ready.drain(..) {
            match envelope::read(&event.data) {
                Some(Message::Note { method, params }) => flight.note(&method, params, None),
                Some(Message::Request(question)) => {
                    line.ask(question, None, Some(protocol), flight)
                }
                Some(Message::Answer { .. }) | None => {}
            }
        }
    }
}
