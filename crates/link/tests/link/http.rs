//! The streamable HTTP transport in both eras.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use link::{
    CallContinuation, CallOutcome, Connection, ConnectionError, ConnectionStatus, HttpEndpoint,
    MessageBounds, Options, ProtocolEra, UpstreamCall, UpstreamEndpoint,
};
use serde_json::{Map, json};

use crate::support::{
    PendingResponder, answer, call, call_once, call_text, drop_once, elicitable_call, object,
    wait_until,
};
use crate::web_server::{END_OF_STREAM, ServerKind, ServerScript, WebServer};

const LIST_CHANGED: &str =
    "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";

#[tokio::test]
async fn connects_in_both_eras() {
    for (kind, era, protocol) in [
        (ServerKind::Stateless, ProtocolEra::Stateless, "2026-07-28"),
        (ServerKind::Handshake, ProtocolEra::Handshake, "2025-06-18"),
        (ServerKind::HandshakeFailing, ProtocolEra::Handshake, "2025-06-18"),
    ] {
        let web = WebServer::start(&ServerScript::new(kind));
        let connection = web.connection();
        let mut changed = connection.subscribe_list_changed();
        let server = connection.connect().await.unwrap();
        assert_eq!((server.era, server.protocol.as_str()), (era, protocol));
        assert_eq!(connection.list_tools().await.unwrap(), [json!({ "name": "echo" })]);
        let echoed = call(&connection, "echo", json!({ "z": 1, "a": 2 })).await.unwrap();
        assert_eq!(echoed.structured, Some(json!({ "z": 1, "a": 2 })));
        wait_until("it listens", async || web.script.stream.receiver_count() == 1).await;
        web.script.stream.send(LIST_CHANGED.to_owned()).unwrap();
        changed.changed().await.unwrap();
        connection.close().await;
        assert_eq!(web.script.count("DELETE"), usize::from(era == ProtocolEra::Handshake));
        assert_eq!(
            web.script.count("notifications/initialized"),
            usize::from(era == ProtocolEra::Handshake)
        );
    }
}

#[tokio::test]
async fn reopened_stream_counts_as_list_change() {
    for (kind, opens) in
        [(ServerKind::Stateless, "subscriptions/listen"), (ServerKind::Handshake, "GET")]
    {
        let web = WebServer::start(&ServerScript::new(kind));
        let connection = web.connection();
        let changed = connection.subscribe_list_changed();
        connection.connect().await.unwrap();
        wait_until("it listens", async || web.script.stream.receiver_count() == 1).await;
        assert!(!changed.has_changed().unwrap());
        web.script.stream.send(END_OF_STREAM.to_owned()).unwrap();
        wait_until("it listens again", async || changed.has_changed().unwrap()).await;
        assert_eq!(web.script.count(opens), 2);
    }
}

#[tokio::test]
async fn probes_slow_stateless_server_again() {
    for kind in [ServerKind::StatelessSlow, ServerKind::StatelessReluctant] {
        let web = WebServer::start(&ServerScript::new(kind));
        let connection = Connection::new(Options {
            // The first probe ends after a third of it.
            connect_timeout: Duration::from_secs(9),
            ..web.options()
        });
        assert_eq!(connection.connect().await.unwrap().era, ProtocolEra::Stateless);
        assert_eq!(web.script.count("server/discover"), 2);
    }
}

#[tokio::test]
async fn stateless_requests_carry_routing_headers() {
    let web = WebServer::start(&ServerScript::new(ServerKind::Stateless));
    let connection = web.connection();
    let arguments = object(json!({ "region": "eu west", "note": "é", "plain": 1 }));
    let schema = json!({ "properties": {
        "region": { "type": "string", "x-mcp-header": "Region" },
        "note": { "type": "string", "x-mcp-header": "Note" },
    } });
    connection
        .call(UpstreamCall {
            input_schema: Some(&schema),
            ..UpstreamCall::new("echo ü", &arguments)
        })
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
async fn lost_session_is_reopened_within_the_call() {
    for kind in [ServerKind::Handshake, ServerKind::HandshakeBadRequest] {
        let web = WebServer::start(&ServerScript::new(kind));
        let connection = web.connection();
        assert_eq!(call_text(&connection, "echo", json!({})).await, "ok");
        let probes = web.script.count("server/discover");
        web.script.forget_sessions();
        let calls: Vec<_> = (0..20)
            .map(|number| {
                let connection = connection.clone();
                tokio::spawn(
                    async move { call(&connection, "echo", json!({ "number": number })).await },
                )
            })
            .collect();
        for (number, called) in calls.into_iter().enumerate() {
            assert_eq!(
                called.await.unwrap().unwrap().structured,
                Some(json!({ "number": number }))
            );
        }
        // One new session for all calls, without probing the era again.
        assert_eq!(web.script.count("initialize"), 2);
        assert_eq!(web.script.count("server/discover"), probes);
    }
}

#[tokio::test]
async fn does_not_mistake_other_errors_for_a_lost_session() {
    for (kind, tool, expected) in [
        (
            ServerKind::Handshake,
            "payment",
            "the server returned error -32000: no valid payment session",
        ),
        (
            ServerKind::Stateless,
            "session",
            "protocol violation: the server responded with HTTP 400",
        ),
    ] {
        let web = WebServer::start(&ServerScript::new(kind));
        let connection = web.connection();
        assert_eq!(call(&connection, tool, json!({})).await.unwrap_err().to_string(), expected);
        assert_eq!(web.script.count("tools/call"), 1, "it is not retried");
        assert!(matches!(connection.status(), ConnectionStatus::Connected(_)));
    }
}

#[tokio::test]
async fn fails_fast_while_server_is_down_and_reconnects_after_restart() {
    for kind in [ServerKind::Stateless, ServerKind::Handshake] {
        let web = WebServer::start(&ServerScript::new(kind));
        let address = web.address;
        let connection = web.connection();
        assert_eq!(call_text(&connection, "echo", json!({})).await, "ok");
        let pending_call = {
            let connection = connection.clone();
            tokio::spawn(async move { call(&connection, "hang", json!({})).await })
        };
        wait_until("the call is pending", async || web.script.hanging.load(Ordering::SeqCst) == 1)
            .await;
        drop(web);
        let error = pending_call.await.unwrap().unwrap_err();
        assert!(
            matches!(error, ConnectionError::Unavailable { may_have_run: true, .. }),
            "{error}"
        );
        let error = call(&connection, "echo", json!({})).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the server is unavailable: cannot connect (Connection refused (os error 111))"
        );
        assert!(matches!(error, ConnectionError::Unavailable { may_have_run: false, .. }));
        assert_eq!(call(&connection, "echo", json!({})).await.unwrap_err(), error);
        assert!(matches!(connection.status(), ConnectionStatus::Lost { .. }));
        let script = ServerScript::new(kind);
        let _web = WebServer::start_at(&script, address);
        assert_eq!(
            call_text(&connection, "echo", json!({})).await,
            "ok",
            "the next call reconnects"
        );
    }
}

#[tokio::test]
async fn unnoticed_restart_fails_at_most_one_call() {
    for kind in [ServerKind::Stateless, ServerKind::Handshake] {
        let web = WebServer::start(&ServerScript::new(kind));
        let address = web.address;
        let connection = web.connection();
        assert_eq!(call_text(&connection, "echo", json!({})).await, "ok");
        drop(web);
        let script = ServerScript::new(kind);
        let _web = WebServer::start_at(&script, address);
        // A request written to a connection that turns out to be dead may have run.
        if let Err(error) = call(&connection, "echo", json!({})).await {
            assert!(
                matches!(error, ConnectionError::Unavailable { may_have_run: true, .. }),
                "{error}"
            );
        }
        assert_eq!(call_text(&connection, "echo", json!({})).await, "ok");
    }
}

#[tokio::test]
async fn reads_streamed_responses() {
    let web = WebServer::start(&ServerScript::new(ServerKind::Handshake));
    let connection = web.connection();
    let steps = Arc::new(Mutex::new(Vec::new()));
    let (none, sink) = (Map::new(), steps.clone());
    let streamed = UpstreamCall {
        progress: Some(Arc::new(move |step| sink.lock().unwrap().push(step.done))),
        ..UpstreamCall::new("stream", &none)
    };
    let streamed = answer(connection.call(streamed).await.unwrap());
    assert_eq!(streamed.content.unwrap()[0]["text"], "streamed");
    assert_eq!(*steps.lock().unwrap(), [1.0]);
    let deviations = connection.deviations();
    assert_eq!((deviations.stray_responses, deviations.garbage), (1, 1));
    // A stream that breaks after an event with an id is resumed.
    assert_eq!(call_text(&connection, "broken", json!({})).await, "resumed");
    let error = call(&connection, "cut", json!({})).await.unwrap_err();
    assert_eq!(
        error,
        ConnectionError::Unavailable {
            reason: "the stream ended before the response".to_owned(),
            may_have_run: true,
        }
    );
}

#[tokio::test]
async fn reuses_http_connections() {
    for kind in [ServerKind::Stateless, ServerKind::Handshake] {
        let web = WebServer::start(&ServerScript::new(kind));
        let connection = web.connection();
        for tool in ["echo", "stream"].repeat(20) {
            call(&connection, tool, json!({})).await.unwrap();
        }
        // One to listen and two for calls, because a stream may still be ending when the next call starts.
        let peers = web.script.peers.lock().unwrap().len();
        assert!(peers <= 4, "{peers} connections for 40 calls");
    }
}

#[tokio::test]
async fn relays_elicitation_in_both_eras() {
    let web = WebServer::start(&ServerScript::new(ServerKind::Handshake));
    let connection = web.connection();
    let none = Map::new();
    // A request on a call's own stream belongs to it, regardless of other pending calls.
    let asked = async || {
        answer(connection.call(elicitable_call("elicit", &none)).await.unwrap()).structured.unwrap()
    };
    let other = elicitable_call("hang", &none);
    let reply = tokio::select! {
        _ = connection.call(other) => panic!("the call should hang"),
        reply = asked() => reply,
    };
    assert_eq!(reply["answer"]["result"]["content"]["message"], "sure?");
    let reply = answer(connection.call(UpstreamCall::new("elicit", &none)).await.unwrap())
        .structured
        .unwrap();
    assert_eq!(reply["answer"]["error"]["code"], -32601);

    let web = WebServer::start(&ServerScript::new(ServerKind::Stateless));
    let connection = web.connection();
    let CallOutcome::InputRequired { requests, state } =
        connection.call(elicitable_call("ask", &none)).await.unwrap()
    else {
        panic!("the server should require input");
    };
    assert!(requests.contains_key("q"));
    let answers = object(json!({ "q": { "action": "decline" } }));
    let resumed = UpstreamCall {
        resume: Some(CallContinuation { state, answers }),
        ..elicitable_call("ask", &none)
    };
    let reply = answer(connection.call(resumed).await.unwrap());
    assert_eq!(reply.structured, Some(json!({ "q": { "action": "decline" } })));
}

#[tokio::test]
async fn server_can_cancel_an_elicitation() {
    let web = WebServer::start(&ServerScript::new(ServerKind::Handshake));
    let connection = web.connection();
    let asker = Arc::new(PendingResponder::default());
    let pending_call = tokio::spawn({
        let asker = asker.clone();
        async move {
            let none = Map::new();
            connection
                .call(UpstreamCall { responder: Some(asker), ..elicitable_call("withdraw", &none) })
                .await
        }
    });
    wait_until("the elicitation is open", async || asker.open.load(Ordering::SeqCst) == 1).await;
    web.script.answers.send(json!("withdraw")).unwrap();
    wait_until("the elicitation is cancelled", async || asker.open.load(Ordering::SeqCst) == 0)
        .await;
    web.script.answers.send(json!("end")).unwrap();
    let ended = answer(pending_call.await.unwrap().unwrap());
    assert_eq!(ended.content.unwrap()[0]["text"], "ok");
}

#[tokio::test]
async fn dropping_a_call_closes_the_request_or_sends_a_cancellation() {
    for kind in [ServerKind::Stateless, ServerKind::Handshake] {
        let web = WebServer::start(&ServerScript::new(kind));
        let connection = web.connection();
        connection.connect().await.unwrap();
        let hanging = call_once(&connection, "hang", json!({}));
        drop_once(hanging, async || web.script.hanging.load(Ordering::SeqCst) == 1).await;
        wait_until("the request is closed", async || {
            web.script.hanging.load(Ordering::SeqCst) == 0
        })
        .await;
        if kind == ServerKind::Handshake {
            wait_until("the cancellation arrives", async || {
                web.script.count("notifications/cancelled") == 1
            })
            .await;
            let (_, note) = web.script.last("notifications/cancelled");
            assert_eq!(note["params"]["requestId"], web.script.last("tools/call").1["id"]);
        }
    }
}

#[tokio::test]
async fn background_messages_are_abandoned_after_time_limit() {
    for kind in [ServerKind::Handshake, ServerKind::Sse] {
        let web = WebServer::start(&ServerScript::new(kind));
        web.script.ignores_background_messages.store(true, Ordering::SeqCst);
        let hanging = async || web.script.hanging.load(Ordering::SeqCst);
        let check_given_up = async |what: &str| {
            wait_until(what, async || web.script.count(what) == 1 && hanging().await == 1).await;
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(5)).await;
            tokio::time::resume();
            wait_until("the message is abandoned", async || hanging().await == 0).await;
        };
        let connection = web.connection();
        connection.connect().await.unwrap();
        let hanging = call_once(&connection, "hang", json!({}));
        drop_once(hanging, async || web.script.count("tools/call") == 1).await;
        check_given_up("notifications/cancelled").await;
        drop(connection);
        if kind == ServerKind::Handshake {
            check_given_up("DELETE").await;
        }
    }
}

#[tokio::test]
async fn rejects_invalid_responses() {
    let web = WebServer::start(&ServerScript::new(ServerKind::Stateless));
    let bounds = MessageBounds { max_message_bytes: 2_000_000, ..MessageBounds::default() };
    let connection = Connection::new(Options { bounds, ..web.options() });
    for tool in ["big", "big chunks", "big event"] {
        let error = call(&connection, tool, json!({})).await.unwrap_err();
        assert!(matches!(error, ConnectionError::TooLarge { limit: 2_000_000, .. }), "{error}");
    }
    let mut errors = Vec::new();
    for tool in ["foreign", "nothing", "teapot", "busy", "refuse"] {
        errors.push(call(&connection, tool, json!({})).await.unwrap_err().to_string());
    }
    insta::assert_snapshot!(errors.join("\n"), @r"
    protocol violation: the response has the id of another request
    protocol violation: the response is not JSON-RPC
    protocol violation: the server responded with HTTP 418
    the server is unavailable: it responded with HTTP 503
    the server returned error -32020: header [secret]
    ");
    assert_eq!(connection.deviations().oversized, 3);
    assert_eq!(call_text(&connection, "echo", json!({})).await, "ok");
}

#[tokio::test]
async fn does_not_follow_redirects_to_another_origin() {
    let other = WebServer::start(&ServerScript::new(ServerKind::Stateless));
    let web = WebServer::start(&ServerScript::new(ServerKind::Stateless));
    let connection = web.connection();
    *web.script.other_url.lock().unwrap() = Some(other.endpoint().url);
    call(&connection, "redirect", json!({})).await.unwrap_err();
    assert_eq!(other.script.seen.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn reports_invalid_configuration() {
    let web = WebServer::start(&ServerScript::new(ServerKind::Stateless));
    let connect = async |url: &str, header: (&str, &str)| {
        let headers = [(header.0.to_owned(), header.1.into())].into();
        let endpoint = HttpEndpoint { url: url.to_owned(), headers };
        Connection::new(Options::new("wrong", UpstreamEndpoint::Http(endpoint)))
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
    invalid upstream configuration: the URL is malformed
    invalid upstream configuration: the URL must start with http:// or https://
    invalid upstream configuration: "bad name" is not a valid header name
    invalid upstream configuration: the value of header x-key contains invalid characters
    the server rejected the credentials (HTTP 401)
    "#);
}
