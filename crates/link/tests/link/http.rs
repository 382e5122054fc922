//! Streamable HTTP in both eras.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use link::{Bounds, Call, Endpoint, Era, Link, LinkError, Options, Reach, Resume, Status, Turn};
use serde_json::{Map, json};

use crate::support::{Thinker, answer, askable, call, object, turn, until, words};
use crate::web::{END, Kind, SOON, Script, Web};

const LIST_CHANGED: &str =
    "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";

#[tokio::test]
async fn both_eras() {
    for (kind, era, protocol) in [
        (Kind::Stateless, Era::Stateless, "2026-07-28"),
        (Kind::Handshake, Era::Handshake, "2025-06-18"),
        (Kind::HandshakeFailing, Era::Handshake, "2025-06-18"),
    ] {
        let web = Web::start(&Script::new(kind));
        let link = web.link();
        let mut changed = link.list_changed();
        let server = link.connect().await.unwrap();
        assert_eq!((server.era, server.protocol.as_str()), (era, protocol));
        assert_eq!(link.tools().await.unwrap(), [json!({ "name": "echo" })]);
        let echoed = call(&link, "echo", json!({ "z": 1, "a": 2 })).await.unwrap();
        assert_eq!(echoed.structured, Some(json!({ "z": 1, "a": 2 })));
        until("it listens", async || web.script.stream.receiver_count() == 1).await;
        web.script.stream.send(LIST_CHANGED.to_owned()).unwrap();
        changed.changed().await.unwrap();
        link.close().await;
        assert_eq!(web.script.count("DELETE"), usize::from(era == Era::Handshake));
        assert_eq!(
            web.script.count("notifications/initialized"),
            usize::from(era == Era::Handshake)
        );
    }
}

#[tokio::test]
async fn what_may_have_changed_between_two_streams_counts_as_changed() {
    for (kind, opens) in [(Kind::Stateless, "subscriptions/listen"), (Kind::Handshake, "GET")] {
        let web = Web::start(&Script::new(kind));
        let link = web.link();
        let changed = link.list_changed();
        link.connect().await.unwrap();
        until("it listens", async || web.script.stream.receiver_count() == 1).await;
        assert!(!changed.has_changed().unwrap());
        web.script.stream.send(END.to_owned()).unwrap();
        until("it listens again", async || changed.has_changed().unwrap()).await;
        assert_eq!(web.script.count(opens), 2);
    }
}

#[tokio::test]
async fn a_stateless_server_that_is_slow_to_start_is_asked_again() {
    for kind in [Kind::StatelessSlow, Kind::StatelessReluctant] {
        let web = Web::start(&Script::new(kind));
        let link =
            Link::new(Options { connect_timeout: Duration::from_millis(3000), ..web.options() });
        assert_eq!(link.connect().await.unwrap().era, Era::Stateless);
        assert_eq!(web.script.count("server/discover"), 2);
    }
}

#[tokio::test]
async fn headers_repeat_what_the_body_says() {
    let web = Web::start(&Script::new(Kind::Stateless));
    let link = web.link();
    let arguments = object(json!({ "region": "eu west", "note": "é", "plain": 1 }));
    let schema = json!({ "properties": {
        "region": { "type": "string", "x-mcp-header": "Region" },
        "note": { "type": "string", "x-mcp-header": "Note" },
    } });
    link.call(Call { input_schema: Some(&schema), ..Call::new("echo ü", &arguments) })
        .await
        .unwrap();
    let (headers, body) = web.script.last("tools/call");
    let mut shown: Vec<String> = headers
        .iter()
        .filter(|(name, _)| !["host", "content-length", "user-agent"].contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    shown.sort();
    insta::assert_snapshot!(shown.join("\n"), @r"
    accept: application/json, text/event-stream
    authorization: Bearer tok-secret
    content-type: application/json
    mcp-method: tools/call
    mcp-name: =?base64?ZWNobyDDvA==?=
    mcp-param-note: =?base64?w6k=?=
    mcp-param-region: eu west
    mcp-protocol-version: 2026-07-28
    ");
    assert_eq!(body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_forgotten_session_heals_within_the_call() {
    for kind in [Kind::Handshake, Kind::HandshakeBadRequest] {
        let web = Web::start(&Script::new(kind));
        let link = web.link();
        assert_eq!(words(&link, "echo", json!({})).await, "ok");
        let probes = web.script.count("server/discover");
        web.script.forget_sessions();
        let calls: Vec<_> = (0..20)
            .map(|number| {
                let link = link.clone();
                tokio::spawn(async move { call(&link, "echo", json!({ "number": number })).await })
            })
            .collect();
        for (number, called) in calls.into_iter().enumerate() {
            assert_eq!(
                called.await.unwrap().unwrap().structured,
                Some(json!({ "number": number }))
            );
        }
        // One new session for all of them, without asking again which era it is.
        assert_eq!(web.script.count("initialize"), 2);
        assert_eq!(web.script.count("server/discover"), probes);
    }
}

#[tokio::test]
async fn not_every_word_of_sessions_is_about_ours() {
    for (kind, tool, expected) in [
        (
            Kind::Handshake,
            "payment",
            "the server refused with error -32000: no valid payment session",
        ),
        (Kind::Stateless, "session", "the server breaks the protocol: it answers with HTTP 400"),
    ] {
        let web = Web::start(&Script::new(kind));
        let link = web.link();
        assert_eq!(call(&link, tool, json!({})).await.unwrap_err().to_string(), expected);
        assert_eq!(web.script.count("tools/call"), 1, "it is not repeated");
        assert!(matches!(link.status(), Status::Connected(_)));
    }
}

#[tokio::test]
async fn a_restart_heals_and_until_then_fails_fast() {
    for kind in [Kind::Stateless, Kind::Handshake] {
        let web = Web::start(&Script::new(kind));
        let address = web.address;
        let link = web.link();
        assert_eq!(words(&link, "echo", json!({})).await, "ok");
        let under_way = {
            let link = link.clone();
            tokio::spawn(async move { call(&link, "hang", json!({})).await })
        };
        until("it is under way", async || web.script.hanging.load(Ordering::SeqCst) == 1).await;
        drop(web);
        let error = under_way.await.unwrap().unwrap_err();
        assert!(matches!(error, LinkError::Unavailable { may_have_run: true, .. }), "{error}");
        let error = call(&link, "echo", json!({})).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the server is unavailable: cannot connect (Connection refused (os error 111))"
        );
        assert!(matches!(error, LinkError::Unavailable { may_have_run: false, .. }));
        assert_eq!(call(&link, "echo", json!({})).await.unwrap_err(), error);
        assert!(matches!(link.status(), Status::Lost { .. }));
        let script = Script::new(kind);
        let _web = Web::start_at(&script, address);
        assert_eq!(words(&link, "echo", json!({})).await, "ok", "the next call heals");
    }
}

#[tokio::test]
async fn a_restart_that_nobody_saw_costs_at_most_the_call_on_the_dead_connection() {
    for kind in [Kind::Stateless, Kind::Handshake] {
        let web = Web::start(&Script::new(kind));
        let address = web.address;
        let link = web.link();
        assert_eq!(words(&link, "echo", json!({})).await, "ok");
        drop(web);
        let script = Script::new(kind);
        let _web = Web::start_at(&script, address);
        // A request that was written to a connection that then turned out dead may have run, as far as we can know.
        if let Err(error) = call(&link, "echo", json!({})).await {
            assert!(matches!(error, LinkError::Unavailable { may_have_run: true, .. }), "{error}");
        }
        assert_eq!(words(&link, "echo", json!({})).await, "ok");
    }
}

#[tokio::test]
async fn answers_as_streams() {
    let web = Web::start(&Script::new(Kind::Handshake));
    let link = web.link();
    let steps = Arc::new(Mutex::new(Vec::new()));
    let (none, sink) = (Map::new(), steps.clone());
    let streamed = Call {
        progress: Some(Arc::new(move |step| sink.lock().unwrap().push(step.done))),
        ..Call::new("stream", &none)
    };
    let streamed = answer(link.call(streamed).await.unwrap());
    assert_eq!(streamed.content.unwrap()[0]["text"], "streamed");
    assert_eq!(*steps.lock().unwrap(), [1.0]);
    let oddities = link.oddities();
    assert_eq!((oddities.stray_answers, oddities.garbage), (1, 1));
    // Broken off after an event with an id: taken up where it broke.
    assert_eq!(words(&link, "broken", json!({})).await, "resumed");
    let error = call(&link, "cut", json!({})).await.unwrap_err();
    assert_eq!(
        error,
        LinkError::Unavailable {
            reason: "the stream ended before the answer".to_owned(),
            may_have_run: true,
        }
    );
}

#[tokio::test]
async fn connections_are_kept() {
    for kind in [Kind::Stateless, Kind::Handshake] {
        let web = Web::start(&Script::new(kind));
        let link = web.link();
        for tool in ["echo", "stream"].repeat(20) {
            call(&link, tool, json!({})).await.unwrap();
        }
        // One to listen; two to talk, as a stream may still be ending while the next call begins.
        let peers = web.script.peers.lock().unwrap().len();
        assert!(peers <= 4, "{peers} connections for 40 calls");
    }
}

#[tokio::test]
async fn questions() {
    let web = Web::start(&Script::new(Kind::Handshake));
    let link = web.link();
    let none = Map::new();
    // On its own stream a question finds its call however many are under way.
    let asked =
        async || answer(link.call(askable("elicit", &none)).await.unwrap()).structured.unwrap();
    let other = askable("hang", &none);
    let reply = tokio::select! {
        _ = link.call(other) => panic!("it hangs"),
        reply = asked() => reply,
    };
    assert_eq!(reply["answer"]["result"]["content"]["message"], "sure?");
    let reply = answer(link.call(Call::new("elicit", &none)).await.unwrap()).structured.unwrap();
    assert_eq!(reply["answer"]["error"]["code"], -32601);

    let web = Web::start(&Script::new(Kind::Stateless));
    let link = web.link();
    let Turn::Ask { requests, state } = link.call(askable("ask", &none)).await.unwrap() else {
        panic!("it should ask");
    };
    assert!(requests.contains_key("q"));
    let answers = object(json!({ "q": { "action": "decline" } }));
    let resumed = Call { resume: Some(Resume { state, answers }), ..askable("ask", &none) };
    let reply = answer(link.call(resumed).await.unwrap());
    assert_eq!(reply.structured, Some(json!({ "q": { "action": "decline" } })));
}

#[tokio::test]
async fn a_question_on_a_calls_own_stream_can_be_withdrawn() {
    let web = Web::start(&Script::new(Kind::Handshake));
    let link = web.link();
    let asker = Arc::new(Thinker::default());
    let under_way = tokio::spawn({
        let asker = asker.clone();
        async move {
            let none = Map::new();
            link.call(Call { asker: Some(asker), ..askable("withdraw", &none) }).await
        }
    });
    until("somebody is asked", async || asker.open.load(Ordering::SeqCst) == 1).await;
    web.script.answers.send(json!("withdraw")).unwrap();
    until("the question is withdrawn", async || asker.open.load(Ordering::SeqCst) == 0).await;
    web.script.answers.send(json!("end")).unwrap();
    let ended = answer(under_way.await.unwrap().unwrap());
    assert_eq!(ended.content.unwrap()[0]["text"], "ok");
}

#[tokio::test]
async fn a_dropped_call_closes_the_request_or_says_so() {
    for kind in [Kind::Stateless, Kind::Handshake] {
        let web = Web::start(&Script::new(kind));
        let link = web.link();
        link.connect().await.unwrap();
        let dropped = tokio::time::timeout(SOON, turn(&link, "hang", json!({}))).await;
        assert!(dropped.is_err());
        until("the server lets go", async || web.script.hanging.load(Ordering::SeqCst) == 0).await;
        if kind == Kind::Handshake {
            until("it is told", async || web.script.count("notifications/cancelled") == 1).await;
            let (_, note) = web.script.last("notifications/cancelled");
            assert_eq!(note["params"]["requestId"], web.script.last("tools/call").1["id"]);
        }
    }
}

#[tokio::test]
async fn a_server_that_does_not_take_what_nobody_waits_for_is_left_alone() {
    for kind in [Kind::Handshake, Kind::Sse] {
        let web = Web::start(&Script::new(kind));
        web.script.is_deaf.store(true, Ordering::SeqCst);
        let hanging = async || web.script.hanging.load(Ordering::SeqCst);
        let check_given_up = async |what: &str| {
            until(what, async || web.script.count(what) == 1 && hanging().await == 1).await;
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(5)).await;
            tokio::time::resume();
            until("it is given up", async || hanging().await == 0).await;
        };
        let link = web.link();
        link.connect().await.unwrap();
        let dropped = tokio::time::timeout(SOON, turn(&link, "hang", json!({}))).await;
        assert!(dropped.is_err());
        check_given_up("notifications/cancelled").await;
        drop(link);
        if kind == Kind::Handshake {
            check_given_up("DELETE").await;
        }
    }
}

#[tokio::test]
async fn bad_answers() {
    let web = Web::start(&Script::new(Kind::Stateless));
    let bounds = Bounds { max_message_bytes: 2_000_000, ..Bounds::default() };
    let link = Link::new(Options { bounds, ..web.options() });
    for tool in ["big", "big chunks", "big event"] {
        let error = call(&link, tool, json!({})).await.unwrap_err();
        assert!(matches!(error, LinkError::TooLarge { limit: 2_000_000, .. }), "{error}");
    }
    let mut errors = Vec::new();
    for tool in ["foreign", "nothing", "teapot", "busy", "refuse"] {
        errors.push(call(&link, tool, json!({})).await.unwrap_err().to_string());
    }
    insta::assert_snapshot!(errors.join("\n"), @r"
    the server breaks the protocol: it answers another request than it was sent
    the server breaks the protocol: its answer is no JSON-RPC response
    the server breaks the protocol: it answers with HTTP 418
    the server is unavailable: it answers with HTTP 503
    the server refused with error -32020: header [secret]
    ");
    assert_eq!(link.oddities().oversized, 3);
    assert_eq!(words(&link, "echo", json!({})).await, "ok");
}

#[tokio::test]
async fn our_headers_go_nowhere_else() {
    let other = Web::start(&Script::new(Kind::Stateless));
    let web = Web::start(&Script::new(Kind::Stateless));
    let link = web.link();
    *web.script.elsewhere.lock().unwrap() = Some(other.endpoint().url);
    call(&link, "redirect", json!({})).await.unwrap_err();
    assert_eq!(other.script.seen.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn what_cannot_work_says_why() {
    let web = Web::start(&Script::new(Kind::Stateless));
    let connect = async |url: &str, header: (&str, &str)| {
        let headers = [(header.0.to_owned(), header.1.into())].into();
        let endpoint = Endpoint { url: url.to_owned(), headers };
        Link::new(Options::new("wrong", Reach::Http(endpoint)))
            .connect()
            .await
            .unwrap_err()
            .to_string()
    };
    let url = web.endpoint().url;
    let good = ("Authorization", "Bearer other-secret");
    let errors = [
        connect("not a url", good).await,
        connect("file:///etc/passwd", good).await,
        connect(&url, ("bad name", "x")).await,
        connect(&url, ("X-Key", "line\nbreak")).await,
        connect(&url, good).await,
    ];
    insta::assert_snapshot!(errors.join("\n"), @r#"
    the upstream is configured wrongly: the url cannot be read
    the upstream is configured wrongly: the url must begin with http:// or https://
    the upstream is configured wrongly: "bad name" cannot be the name of a header
    the upstream is configured wrongly: the value of the header x-key cannot be sent
    the server wants other credentials (HTTP 401)
    "#);
}
