//! The link itself: connects when it is needed, shares one connection, heals it, and closes it.

mod shared;
mod turns;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::error::Fail;
use crate::flight::Listener;
use crate::pages::Listing;
use crate::session::{Meta, Request, Session};
use crate::{
    Abilities, Call, Era, Failed, LinkError, Oddities, Options, Server, Status, Turn, answer,
    headers, question,
};
use shared::Shared;

const UNKNOWN_METHOD: i64 = -32601;

/// One connection to one server, for any number of calls at a time. Dropping it ends the connection, and the child behind it.
pub struct Link {
    shared: Arc<Shared>,
}

#[derive(Serialize)]
struct CallParams<'a> {
    name: &'a str,
    arguments: &'a Map<String, Value>,
    #[serde(rename = "inputResponses", skip_serializing_if = "Option::is_none")]
    answers: Option<&'a Map<String, Value>>,
    #[serde(rename = "requestState", skip_serializing_if = "Option::is_none")]
    state: Option<&'a str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta>,
}

#[derive(Serialize)]
struct ListParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta>,
}

impl Link {
    /// Does not connect yet.
    pub fn new(options: Options) -> Arc<Self> {
        Arc::new(Self { shared: Shared::new(options) })
    }

    /// Connects, unless that is done; who comes second waits for the same attempt.
    pub async fn connect(&self) -> Result<Server, LinkError> {
        self.shared.session().await.map(|session| session.server.clone())
    }

    /// Every tool's definition as it came, from all pages. A server that has no tools, and says so, has an empty listing.
    pub async fn tools(&self) -> Result<Vec<Value>, LinkError> {
        let bounds = self.shared.context.bounds;
        let mut listing = Listing::default();
        let mut cursor = None;
        loop {
            let page = self.exchange(|session, id| {
                let meta = session.meta(Abilities::default());
                let params = ListParams { cursor: cursor.clone(), meta };
                let mut request = Request::new(id, "tools/list", params);
                request.cancel = true;
                request
            });
            let page = match page.await {
                Err(LinkError::Rejected { code: UNKNOWN_METHOD, .. })
                    if !self.shared.session().await?.has_tools =>
                {
                    return Ok(Vec::new());
                }
                page => page?,
            };
            cursor = listing.add(&page, &bounds)?;
            if cursor.is_none() {
                return Ok(listing.tools);
            }
        }
    }

    /// Calls a tool. Dropping the future tells the server that nobody waits for it any more.
    ///
    /// A call that cannot have reached the server is repeated once on a new connection; one that may have run never is.
    pub async fn call(&self, call: Call<'_>) -> Result<Turn, LinkError> {
        self.call_keeping(call).await.map_err(|failed| failed.error)
    }

    /// As [`Link::call`], but an answer that cannot be used comes along, for whoever keeps it for people.
    pub async fn call_keeping(&self, call: Call<'_>) -> Result<Turn, Failed> {
        let context = &self.shared.context;
        let in_turn = call.asker.is_some() && context.one_at_a_time.load(Ordering::Relaxed);
        let _turn = if in_turn { self.shared.turns.take().await } else { None };
        let raw = self.exchange(|session, id| request_of(&call, session, id)).await?;
        let turn = answer::read(raw, &context.bounds)?;
        if let Turn::Ask { requests, .. } = &turn {
            let mut methods = requests.values().filter_map(|request| request["method"].as_str());
            if !methods.all(|method| question::is_within(call.abilities, method)) {
                let reason = "it asks for what this caller did not offer";
                return Err(LinkError::malformed(reason).into());
            }
        }
        Ok(turn)
    }

    async fn exchange<'a>(
        &self,
        build: impl Fn(&Session, u64) -> Request<'a>,
    ) -> Result<Box<RawValue>, LinkError> {
        let mut repeated = false;
        loop {
            let session = self.shared.session().await?;
            let mut request = build(&session, self.shared.context.next_id());
            let (protocol, era) = session.protocol();
            let protocol = protocol.to_owned();
            let name = request.name.take();
            let request = Request { protocol: Some((&protocol, era)), name, ..request };
            match session.wire.request(request).await {
                Ok(result) => return Ok(result),
                Err(fail @ (Fail::Unsent(_) | Fail::Forgotten)) => {
                    let error = fail.into_error();
                    self.shared.lose(&session, &error);
                    if std::mem::replace(&mut repeated, true) {
                        return Err(error);
                    }
                }
                Err(Fail::Final(error)) => return Err(error),
            }
        }
    }

    /// Counts up whenever the tools may have changed: the server said so, or it is another connection.
    pub fn list_changed(&self) -> watch::Receiver<u64> {
        self.shared.context.changed.subscribe()
    }

    pub fn status(&self) -> Status {
        self.shared.status()
    }

    /// How the server is spoken to, once it is known. A server is not asked for it again while the connection lasts.
    pub fn era(&self) -> Option<Era> {
        self.shared.era()
    }

    /// What came that nobody had asked for.
    pub fn oddities(&self) -> Oddities {
        self.shared.context.oddities()
    }

    /// The end of what the child wrote to standard error, made visible.
    pub fn stderr(&self) -> String {
        let context = &self.shared.context;
        let text = self.shared.tail.text();
        text.lines().map(|line| context.shown(line, usize::MAX)).collect::<Vec<_>>().join("\n")
    }

    /// Ends the connection for good, and the child with it.
    pub async fn close(&self) {
        if let Some(session) = self.shared.shut() {
            session.close().await;
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(session) = self.shared.shut() {
            session.shut(&LinkError::Closed);
        }
    }
}

fn request_of<'a>(call: &'a Call<'_>, session: &Session, id: u64) -> Request<'a> {
    let stateless = session.server.era == Era::Stateless;
    let mut meta = session.meta(call.abilities);
    if call.progress.is_some() || call.traceparent.is_some() {
        let meta = meta.get_or_insert_default();
        meta.progress_token = call.progress.as_ref().map(|_| id);
        meta.traceparent = call.traceparent.map(str::to_owned);
    }
    let resume = call.resume.as_ref().filter(|_| stateless);
    let params = CallParams {
        name: call.tool,
        arguments: call.arguments,
        answers: resume.map(|resume| &resume.answers).filter(|answers| !answers.is_empty()),
        state: resume.and_then(|resume| resume.state.as_deref()),
        meta,
    };
    let mut request = Request::new(id, "tools/call", params);
    request.name = Some(call.tool);
    request.cancel = true;
    request.listener = Listener {
        progress: call.progress.clone(),
        asker: call.asker.clone(),
        abilities: call.abilities,
    };
    if stateless {
        request.headers = headers::of_arguments(call.input_schema, call.arguments);
    }
    request
}
