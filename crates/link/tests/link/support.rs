//! What all tests share: links to the scripted server, calls, and waiting for conditions.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use link::{
    Abilities, Answer, Asker, Call, Link, LinkError, Options, Program, Reach, Sandbox, Turn,
};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

pub(crate) const LIMIT: Duration = Duration::from_secs(10);

pub(crate) fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/link/server.py")
}

pub(crate) fn program(mode: &str) -> Program {
    Program {
        command: "python3".to_owned(),
        args: vec![script().to_string_lossy().into_owned()],
        env: [("MODE".to_owned(), mode.into()), ("TOKEN".to_owned(), "hunter2-token".into())]
            .into(),
        folder: std::env::temp_dir(),
        sandbox: Sandbox::Off,
        keeper: vec![env!("CARGO_BIN_EXE_keeper").into()],
    }
}

pub(crate) fn options(program: Program) -> Options {
    Options::new("scripted", Reach::Stdio(program))
}

pub(crate) fn child(mode: &str) -> Arc<Link> {
    Link::new(options(program(mode)))
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

pub(crate) async fn turn(link: &Link, tool: &str, arguments: Value) -> Result<Turn, LinkError> {
    let arguments = object(arguments);
    let call = link.call(Call::new(tool, &arguments));
    tokio::time::timeout(LIMIT, call).await.expect("an answer in time")
}

pub(crate) async fn call(link: &Link, tool: &str, arguments: Value) -> Result<Answer, LinkError> {
    turn(link, tool, arguments).await.map(answer)
}

pub(crate) fn answer(turn: Turn) -> Answer {
    match turn {
        Turn::Answer(answer) => answer,
        Turn::Ask { .. } => panic!("the server asks instead of answering"),
    }
}

pub(crate) async fn words(link: &Link, tool: &str, arguments: Value) -> String {
    let answer = call(link, tool, arguments).await.unwrap();
    answer.content.as_ref().unwrap()[0]["text"].as_str().unwrap().to_owned()
}

/// Waits until the condition holds, or fails naming it.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut condition: impl FnMut() -> F) {
    let ends = tokio::time::Instant::now() + LIMIT;
    while !condition().await {
        assert!(tokio::time::Instant::now() < ends, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Answers every question with its own method.
pub(crate) struct Echo;

#[async_trait]
impl Asker for Echo {
    async fn ask(&self, method: &str, params: Value) -> Result<Value, String> {
        Ok(
            json!({ "action": "accept", "content": { "method": method, "message": params["message"] } }),
        )
    }
}

/// Somebody who thinks until told to answer, or for ever.
#[derive(Default)]
pub(crate) struct Thinker {
    pub(crate) asked: AtomicUsize,
    /// Questions that are neither answered nor withdrawn.
    pub(crate) open: AtomicUsize,
    pub(crate) answer: Notify,
}

#[async_trait]
impl Asker for Thinker {
    async fn ask(&self, method: &str, params: Value) -> Result<Value, String> {
        struct Open<'a>(&'a AtomicUsize);
        impl Drop for Open<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.open.fetch_add(1, Ordering::SeqCst);
        let _open = Open(&self.open);
        self.answer.notified().await;
        Echo.ask(method, params).await
    }
}

pub(crate) fn askable<'a>(tool: &'a str, arguments: &'a Map<String, Value>) -> Call<'a> {
    Call {
        asker: Some(Arc::new(Echo)),
        abilities: Abilities { elicitation: true, ..Abilities::default() },
        ..Call::new(tool, arguments)
    }
}
