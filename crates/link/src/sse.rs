//! The transport of 2024-11-05: messages come as events on one long response and go to an address that its first event
//! names.

use std::sync::Arc;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use reqwest::{Client, Response, Url};
use tokio::task::AbortHandle;

use crate::context::count;
use crate::duplex::{self, Duplex, Outlet};
use crate::error::Fail;
use crate::events::{Event, Events};
use crate::flight::Flight;
use crate::http::{describe, endpoint, refusal};
use crate::{Endpoint, LinkError};

/// Where messages go.
pub(crate) struct Post {
    client: Client,
    url: Url,
    headers: HeaderMap,
    flight: Arc<Flight>,
    reader: AbortHandle,
}

impl Post {
    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<(), Fail> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone());
        let response = request.body(message).send().await.map_err(|error| describe(&error))?;
        if response.status().is_success() {
            return Ok(());
        }
        let fail = refusal(response, true, &self.flight).await;
        if matches!(fail, Fail::Forgotten) {
            self.flight.close(&LinkError::unreachable("it does not know the session it opened"));
        }
        Err(fail)
    }

    pub(crate) fn close(&self) {
        self.reader.abort();
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

pub(crate) async fn connect(
    client: Client,
    target: &Endpoint,
    flight: Arc<Flight>,
) -> Result<Duplex, LinkError> {
    let (url, mut headers) = endpoint(target)?;
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let sent = client.get(url.clone()).headers(headers.clone()).send().await;
    let response = sent.map_err(|error| describe(&error).into_error())?;
    if response.status() != StatusCode::OK {
        return Err(refusal(response, false, &flight).await.into_error());
    }
    let mut stream = Stream::new(response, &flight);
    let place = stream.place().await?;
    let post_to = url.join(&place).ok().filter(|to| to.origin() == url.origin());
    let Some(post_to) = post_to else {
        return Err(LinkError::malformed("it wants its messages sent to another origin"));
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let (start, started) = tokio::sync::oneshot::channel();
    let reader = tokio::spawn({
        let flight = flight.clone();
        async move {
            if let Ok(outlet) = started.await {
                stream.follow(&flight, &outlet).await;
            }
        }
    });
    let reader = reader.abort_handle();
    let post = Post { client, url: post_to, headers, flight: flight.clone(), reader };
    let outlet = Arc::new(Outlet::Post(post));
    let _ = start.send(Arc::downgrade(&outlet));
    Ok(Duplex { flight, outlet })
}

struct Stream {
    response: Response,
    events: Events,
    ready: Vec<Event>,
}

impl Stream {
    fn new(response: Response, flight: &Flight) -> Self {
        let events = Events::new(flight.context.bounds.max_message_bytes);
        Self { response, events, ready: Vec::new() }
    }

    /// More events, or why there are none.
    async fn fill(&mut self) -> Result<(), LinkError> {
        match self.response.chunk().await {
            Ok(Some(chunk)) => self.events.push(&chunk, &mut self.ready),
            Ok(None) | Err(_) => Err(LinkError::lost("its stream of events ended")),
        }
    }

    async fn place(&mut self) -> Result<String, LinkError> {
        loop {
            self.fill().await?;
            if let Some(at) = self.ready.iter().position(|event| event.name == "endpoint") {
                let event = self.ready.drain(..=at).next_back().unwrap_or_default();
                return String::from_utf8(event.data)
                    .map_err(|_| LinkError::malformed("the address for messages cannot be read"));
            }
            // Nobody has been sent anything yet, so these answer nobody.
            self.ready.clear();
        }
    }

    async fn follow(&mut self, flight: &Arc<Flight>, outlet: &std::sync::Weak<Outlet>) {
        loop {
            for event in self.ready.drain(..) {
                if event.name == "message" {
                    duplex::receive(flight, outlet, &event.data);
                }
            }
            if let Err(error) = self.fill().await {
                if matches!(error, LinkError::TooLarge { .. }) {
                    count(&flight.context.oversized);
                }
                flight.close(&error);
                return;
            }
        }
    }
}
