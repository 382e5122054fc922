//! Both eras over stdio, and servers that misbehave there.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use link::{
    CallContinuation, CallOutcome, Connection, ConnectionError, ConnectionStatus, MessageBounds,
    Options, ProtocolEra, UpstreamCall,
};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

use crate::support::{
    LIMIT, PendingResponder, answer, call, call_once, call_text, child, drop_once, elicitable_call,
    object, options, program, wait_until,
};

#[tokio::test]
async fn connects_in_both_eras_and_falls_back_to_handshake() {
    for (mode, era, protocol, name) in [
        ("stateless", ProtocolEra::Stateless, "2026-07-28", "scripted"),
        ("handshake", ProtocolEra::Handshake, "2025-11-25", "scripted\\u{202e}"),
        ("dies-at-first", ProtocolEra::Handshake, "2025-11-25", "scripted\\u{202e}"),
    ] {
        let connection = child(mode);
        assert_eq!(connection.status(), ConnectionStatus::NeverConnected);
        let server = connection.connect().await.unwrap();
        assert_eq!(
            (server.era, server.protocol.as_str(), server.name.as_str()),
            (era, protocol, name)
        );
        assert_eq!(connection.status(), ConnectionStatus::Connected(server));
        let tools = connection.list_tools().await.unwrap();
        assert_eq!(tools[0].to_string(), r#"{"name":"echo","zeta":1,"alpha":2}"#);
        assert_eq!(tools[1]["name"], "hang");
        let answer = call(&connection, "echo", json!({ "z": 1, "a": [0.1, "é"] })).await.unwrap();
        assert_eq!(answer.structured.unwrap().to_string(), r#"{"z":1,"a":[0.1,"é"]}"#);
        assert!(answer.raw.get().starts_with(r#"{"content": [{"type": "text", "#));
        connection.close().await;
        assert_eq!(connection.status(), ConnectionStatus::Closed);
        assert_eq!(connection.connect().await, Err(ConnectionError::Closed));
    }
}

/// The HTTP server runs calls on runtimes that end before the connections to upstream servers are closed.
#[test]
fn session_outlives_the_runtime_of_its_first_caller() {
    let new_runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let owner = new_runtime();
    let connection = owner.block_on(async { child("stateless") });
    let list_pids = async |connection: &Connection| {
        call(connection, "pids", json!({})).await.unwrap().structured.unwrap().to_string()
    };
    let (first, second) = std::thread::scope(|scope| {
        let caller = scope.spawn(|| new_runtime().block_on(list_pids(&connection)));
        owner.block_on(async {
            wait_until("the first caller has ended", async || caller.is_finished()).await;
            (caller.join().unwrap(), list_pids(&connection).await)
        })
    });
    assert_eq!(first, second);
    owner.block_on(connection.close());
}

#[tokio::test]
async fn falls_back_to_handshake_when_probe_is_ignored() {
    let connection = Connection::new(Options {
        // The probe waits for a third of it; the rest is for starting the program on a busy machine.
        connect_timeout: LIMIT,
        ..options(program("silent"))
    });
    assert_eq!(connection.connect().await.unwrap().era, ProtocolEra::Handshake);
}

#[tokio::test]
async fn rejects_unknown_protocol_revision() {
    let mut old = program("handshake");
    old.env.insert("VERSION".to_owned(), "1999".into());
    let error = Connection::new(options(old)).connect().await.unwrap_err();
    assert_eq!(error.to_string(), "protocol violation: unknown protocol revision 1999");
}

#[tokio::test]
async fn stateless_requests_carry_client_info_and_capabilities() {
    let connection = child("stateless");
    let arguments = Map::new();
    let seen =
        UpstreamCall { traceparent: Some("00-1-2-01"), ..elicitable_call("seen", &arguments) };
    let seen = answer(connection.call(seen).await.unwrap()).structured.unwrap();
    let requests = seen["requests"].as_array().unwrap();
    let shown: Vec<Value> = requests
        .iter()
        .map(|request| {
            let mut request = request.clone();
            request["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["version"] =
                "V".into();
            request.as_object_mut().unwrap().remove("id");
            request
        })
        .collect();
    insta::assert_json_snapshot!(shown);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn dropped_calls_do_not_affect_other_calls() {
    let connection = child("handshake");
    let calls: Vec<_> = (0..600u64)
        .map(|number| {
            let connection = connection.clone();
            tokio::spawn(async move {
                // Larger than the pipe buffer, so that some calls are dropped halfway through writing.
                let padding = "x".repeat(if number % 7 == 0 { 100_000 } else { 10 });
                let echo =
                    call(&connection, "echo", json!({ "number": number, "padding": padding }));
                if number % 3 == 0 {
                    let soon = Duration::from_micros(number * 50);
                    return tokio::time::timeout(soon, echo).await.is_err();
                }
                echo.await.unwrap().structured.unwrap()["number"] == number
            })
        })
        .collect();
    let mut kept = 0;
    for (number, called) in calls.into_iter().enumerate() {
        let fine = called.await.unwrap();
        assert!(fine || number % 3 == 0, "{number}");
        kept += usize::from(fine);
    }
    assert!(kept >= 400);
    assert_eq!(connection.deviations().garbage, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn routes_responses_to_their_calls() {
    let connection = child("handshake");
    connection.connect().await.unwrap();
    let held: Vec<_> = (0..50)
        .map(|number| {
            let connection = connection.clone();
            tokio::spawn(
                async move { call(&connection, "hold", json!({ "number": number })).await },
            )
        })
        .collect();
    wait_until("all calls are held", async || {
        let seen = call(&connection, "seen", json!({})).await.unwrap().structured.unwrap();
        seen["requests"].to_string().matches("\"hold\"").count() == 50
    })
    .await;
    assert_eq!(call_text(&connection, "release", json!({})).await, "released 50");
    for (number, held) in held.into_iter().enumerate() {
        let answer = held.await.unwrap().unwrap();
        assert_eq!(answer.structured.unwrap()["number"], number);
    }
}

#[tokio::test]
async fn counts_and_drops_unexpected_messages() {
    let connection = child("handshake");
    assert_eq!(call_text(&connection, "twice", json!({})).await, "first");
    assert_eq!(call_text(&connection, "foreign", json!({})).await, "own");
    assert_eq!(call_text(&connection, "garbage", json!({})).await, "after garbage");
    assert_eq!(call_text(&connection, "stderr", json!({})).await, "after the flood");
    let deviations = connection.deviations();
    assert_eq!((deviations.stray_responses, deviations.garbage), (3, 6));
    wait_until("standard error was read", async || {
        connection.stderr_tail().ends_with("\\u{1b}[31mlast words")
    })
    .await;
    assert!(connection.stderr_tail().len() <= 9000);
}

#[tokio::test]
async fn enforces_bounds_before_parsing() {
    let connection = child("handshake");
    for last in [false, true] {
        let error = call(&connection, "big", json!({ "last": last })).await.unwrap_err();
        assert!(
            matches!(error, ConnectionError::TooLarge { size: 20_000_000.., limit: 16_777_216 }),
            "{error}"
        );
    }
    assert_eq!(
        call(&connection, "deep", json!({})).await.unwrap_err(),
        ConnectionError::TooDeep { limit: 64 }
    );
    let mut errors = Vec::new();
    for result in
        ["{\"content\":[],\"n\":123456789012345678901234567890}", "[]", "{\"content\":7}", "null"]
    {
        errors.push(
            call(&connection, "raw", json!({ "result": result })).await.unwrap_err().to_string(),
        );
    }
    errors.push(call(&connection, "fail", json!({})).await.unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"), @r"
    the number 123456789012345678901234567890 does not fit in 64 bits and cannot be checked exactly
    protocol violation: the result is not an object
    protocol violation: `content` in the result has the wrong type
    protocol violation: a response requires either a result or an error
    the server returned error -32602: no \u{1b}[1m[secret]
    ");
    // The connection is still usable.
    assert_eq!(call_text(&connection, "echo", json!({})).await, "ok");
    assert_eq!(connection.deviations().oversized, 2);
}

#[tokio::test]
async fn dropping_a_call_cancels_it_at_the_server() {
    for mode in ["handshake", "stateless"] {
        let connection = child(mode);
        connection.connect().await.unwrap();
        let hanging = call_once(&connection, "hang", json!({}));
        drop_once(hanging, async || {
            let seen = call(&connection, "seen", json!({})).await.unwrap().structured.unwrap();
            seen["requests"].to_string().contains("\"hang\"")
        })
        .await;
        wait_until("the server receives the cancellation", async || {
            let cancelled =
                call(&connection, "cancelled", json!({})).await.unwrap().structured.unwrap();
            cancelled["ids"].as_array().unwrap().len() == 1
        })
        .await;
    }
}

#[tokio::test]
async fn server_exit_fails_pending_calls_and_next_call_reconnects() {
    let connection = child("handshake");
    let mut changed = connection.subscribe_list_changed();
    let bystander = {
        let connection = connection.clone();
        tokio::spawn(async move { call(&connection, "hang", json!({})).await })
    };
    wait_until("the other call is pending", async || {
        let seen = call(&connection, "seen", json!({})).await.unwrap().structured.unwrap();
        seen["requests"].to_string().contains("\"hang\"")
    })
    .await;
    let error = call(&connection, "die", json!({})).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server is unavailable: it exited with status 3; last line of stderr: fatal: \\u{1b}[31mout of luck [secret]"
    );
    assert!(matches!(error, ConnectionError::Unavailable { may_have_run: true, .. }));
    assert_eq!(bystander.await.unwrap().unwrap_err(), error);
    assert_eq!(call_text(&connection, "echo", json!({})).await, "ok");
    assert!(changed.has_changed().unwrap());
    changed.mark_unchanged();
    // It also reconnects without a call.
    call(&connection, "die", json!({})).await.unwrap_err();
    wait_until("it reconnects in the background", async || {
        matches!(connection.status(), ConnectionStatus::Connected(_))
    })
    .await;
}

#[tokio::test]
async fn pending_call_may_have_run_when_connection_is_closed() {
    let connection = child("handshake");
    let pending_call = tokio::spawn({
        let connection = connection.clone();
        async move { call(&connection, "hang", json!({})).await }
    });
    wait_until("the call is pending", async || {
        let seen = call(&connection, "seen", json!({})).await.unwrap().structured.unwrap();
        seen["requests"].to_string().contains("\"hang\"")
    })
    .await;
    connection.close().await;
    assert_eq!(
        pending_call.await.unwrap().unwrap_err(),
        ConnectionError::Unavailable {
            reason: "the connection was closed".to_owned(),
            may_have_run: true,
        }
    );
}

#[tokio::test]
async fn bounds_tool_listings() {
    let listed = async |pages: &str| {
        let mut program = program("handshake");
        program.env.insert("PAGES".to_owned(), pages.into());
        Connection::new(options(program)).list_tools().await.unwrap_err().to_string()
    };
    insta::assert_snapshot!(
        [listed("circle").await, listed("endless").await, listed("many").await].join("\n"), @r"
    protocol violation: the tool listing repeats a cursor
    the server offers more than 100 pages of tools
    the server offers more than 10000 tools
    ");
    let mut toolless = program("handshake");
    toolless.env.insert("PAGES".to_owned(), "none".into());
    assert_eq!(Connection::new(options(toolless)).list_tools().await, Ok(Vec::new()));
}

#[tokio::test]
async fn delivers_progress_to_its_call_and_list_changes_to_subscribers() {
    let connection = child("stateless");
    let steps = Arc::new(Mutex::new(Vec::new()));
    let arguments = Map::new();
    let sink = steps.clone();
    let progress = UpstreamCall {
        progress: Some(Arc::new(move |step| sink.lock().unwrap().push(step))),
        ..UpstreamCall::new("progress", &arguments)
    };
    connection.call(progress).await.unwrap();
    let steps: Vec<_> = steps
        .lock()
        .unwrap()
        .iter()
        .map(|step| (step.done, step.total, step.message.clone()))
        .collect();
    let step = |done: f64| (done, Some(2.0), Some(format!("step {done}")));
    assert_eq!(steps, [step(1.0), step(2.0)]);
    let mut changed = connection.subscribe_list_changed();
    call(&connection, "change", json!({})).await.unwrap();
    changed.changed().await.unwrap();
}

#[tokio::test]
async fn stateless_elicitation_returns_input_required() {
    let connection = child("stateless");
    let arguments = object(json!({ "keep": true }));
    let CallOutcome::InputRequired { requests, state } =
        connection.call(elicitable_call("ask", &arguments)).await.unwrap()
    else {
        panic!("the server should require input");
    };
    assert_eq!(requests["q"]["method"], "elicitation/create");
    // A caller without the elicitation capability gets an error instead.
    let error = connection.call(UpstreamCall::new("ask", &arguments)).await.unwrap_err();
    assert!(matches!(error, ConnectionError::ProtocolViolation { .. }), "{error}");
    let resume =
        CallContinuation { state, answers: object(json!({ "q": { "action": "accept" } })) };
    let second = UpstreamCall { resume: Some(resume), ..elicitable_call("ask", &arguments) };
    let answer = answer(connection.call(second).await.unwrap());
    assert_eq!(answer.structured, Some(json!({ "answers": { "q": { "action": "accept" } } })));
}

#[tokio::test]
async fn handshake_elicitation_reaches_its_caller_or_is_refused() {
    let connection = child("handshake");
    let call_structured = async |call: UpstreamCall<'_>| {
        answer(connection.call(call).await.unwrap()).structured.unwrap()
    };
    let none = Map::new();
    let answered = call_structured(elicitable_call("elicit", &none)).await;
    assert_eq!(
        answered["result"]["content"],
        json!({ "method": "elicitation/create", "message": "sure?" })
    );
    // Sampling was not offered, `tools/list` is not a client method, and a ping is answered.
    for (method, code) in [("sampling/createMessage", -32601), ("tools/list", -32601)] {
        let arguments = object(json!({ "method": method }));
        assert_eq!(
            call_structured(elicitable_call("elicit", &arguments)).await["error"]["code"],
            code
        );
    }
    let url_mode = object(json!({ "more": { "mode": "url" } }));
    assert_eq!(
        call_structured(elicitable_call("elicit", &url_mode)).await["error"]["code"],
        -32602
    );
    let ping = object(json!({ "method": "ping" }));
    assert_eq!(call_structured(UpstreamCall::new("elicit", &ping)).await, json!({ "result": {} }));
    assert_eq!(call_structured(UpstreamCall::new("elicit", &none)).await["error"]["code"], -32603);
}

#[tokio::test]
async fn declines_floods_of_server_requests() {
    for (same, declined) in [(true, 199), (false, 136)] {
        let connection = child("handshake");
        let arguments = object(json!({ "same": same, "times": 200 }));
        let asker = Arc::new(PendingResponder::default());
        let flood =
            UpstreamCall { responder: Some(asker.clone()), ..elicitable_call("flood", &arguments) };
        connection.call(flood).await.unwrap();
        assert_eq!(connection.deviations().declined, declined);
        assert!(asker.asked.load(Ordering::SeqCst) <= 200 - declined as usize);
        wait_until("no request is open", async || asker.open.load(Ordering::SeqCst) == 0).await;
    }
    let connection = child("handshake");
    let large = object(json!({ "more": { "padding": "x".repeat(300_000) } }));
    let asked = answer(connection.call(elicitable_call("elicit", &large)).await.unwrap())
        .structured
        .unwrap();
    assert_eq!(
        asked["error"],
        json!({ "code": -32602, "message": "the request has more than 262144 bytes" })
    );
}

/// Starts a call that stays pending until it is aborted.
async fn start_hanging_call(connection: &Arc<Connection>) -> JoinHandle<()> {
    let hanging = tokio::spawn({
        let connection = connection.clone();
        async move {
            let _ = connection.call(elicitable_call("hang", &Map::new())).await;
        }
    });
    wait_until("the other call is pending", async || {
        let seen = call(connection, "seen", json!({})).await.unwrap().structured.unwrap();
        seen["requests"].to_string().contains("\"hang\"")
    })
    .await;
    hanging
}

async fn call_elicit(connection: &Connection) -> Value {
    let none = Map::new();
    let asked =
        tokio::time::timeout(LIMIT, connection.call(elicitable_call("elicit", &none))).await;
    answer(asked.expect("a response within the time limit").unwrap()).structured.unwrap()
}

/// Makes the server send a request that could belong to two calls.
async fn trigger_ambiguous_request(connection: &Arc<Connection>) {
    let other = start_hanging_call(connection).await;
    assert_eq!(call_elicit(connection).await["error"]["code"], -32603);
    assert_eq!(connection.deviations().declined, 1);
    other.abort();
    let _ = other.await;
}

#[tokio::test]
async fn ambiguous_server_request_serializes_elicitable_calls() {
    let connection = child("handshake");
    trigger_ambiguous_request(&connection).await;
    let (first, second) = tokio::join!(call_elicit(&connection), call_elicit(&connection));
    assert!(first["result"].is_object() && second["result"].is_object(), "{first} {second}");
    assert_eq!(connection.deviations().declined, 1);
    // On a new session the calls run concurrently again.
    call(&connection, "die", json!({})).await.unwrap_err();
    let other = start_hanging_call(&connection).await;
    assert_eq!(call_elicit(&connection).await["error"]["code"], -32603);
    other.abort();
}

#[tokio::test]
async fn other_calls_proceed_while_an_elicitation_is_open() {
    let connection = child("handshake");
    trigger_ambiguous_request(&connection).await;
    let asker = Arc::new(PendingResponder::default());
    let thinking = tokio::spawn({
        let (connection, asker) = (connection.clone(), asker.clone());
        async move {
            let none = Map::new();
            let call = UpstreamCall { responder: Some(asker), ..elicitable_call("elicit", &none) };
            answer(connection.call(call).await.unwrap()).structured.unwrap()
        }
    });
    wait_until("the elicitation is open", async || asker.open.load(Ordering::SeqCst) == 1).await;
    let none = Map::new();
    connection.call(elicitable_call("echo", &none)).await.unwrap();
    // A request that arrives meanwhile is ambiguous and is refused.
    assert_eq!(call_elicit(&connection).await["error"]["code"], -32603);
    assert_eq!(asker.asked.load(Ordering::SeqCst), 1);
    // A pending call does not block the response.
    let other = start_hanging_call(&connection).await;
    asker.answer.notify_one();
    assert!(thinking.await.unwrap()["result"].is_object());
    assert_eq!(connection.deviations().declined, 2);
    other.abort();
}

#[tokio::test]
async fn failed_start_is_reported_to_all_callers() {
    let mut missing = program("handshake");
    missing.command = "no-such-program".to_owned();
    let connection = Connection::new(options(missing));
    let (first, second) = tokio::join!(connection.connect(), connection.connect());
    assert_eq!(first, second);
    let error = first.unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to start the program: program \"no-such-program\" not found in \
         /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin: use an absolute path, or set PATH in its env"
    );
    assert_eq!(call(&connection, "echo", json!({})).await.unwrap_err(), error);
    let ConnectionStatus::Lost { reason, .. } = connection.status() else {
        panic!("the connection should be lost")
    };
    assert_eq!(reason, error.to_string());
    let unsupervised = link::StdioProgram { supervisor: Vec::new(), ..program("handshake") };
    let error = Connection::new(options(unsupervised)).connect().await.unwrap_err();
    assert!(matches!(error, ConnectionError::StartFailed { .. }), "{error}");
}

#[tokio::test]
async fn server_cannot_impersonate_its_supervisor() {
    let mut impostor = program("handshake");
    let line = r#"{"vouch-keeper":"0","sandbox":"switch it off"}"#;
    (impostor.command, impostor.args) = ("echo".to_owned(), vec![line.to_owned()]);
    let connection = Connection::new(options(impostor));
    assert_eq!(
        connection.connect().await.unwrap_err().to_string(),
        "the server is unavailable: it exited"
    );
    assert!(connection.deviations().garbage > 0);
}

#[tokio::test]
async fn connecting_to_unresponsive_child_times_out() {
    let mut idle = program("handshake");
    (idle.command, idle.args) = ("sleep".to_owned(), vec!["1000".to_owned()]);
    let connection = Connection::new(Options {
        connect_timeout: Duration::from_millis(300),
        bounds: MessageBounds::default(),
        ..options(idle)
    });
    let error = connection.connect().await.unwrap_err();
    assert_eq!(error.to_string(), "the server is unavailable: connecting took longer than 300 ms");
    assert!(matches!(error, ConnectionError::Unavailable { may_have_run: false, .. }));
}

/// The server never answers, so that the attempt to connect would take ten minutes.
#[tokio::test]
async fn closed_connection_neither_keeps_nor_starts_a_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut idle = program("handshake");
    idle.command = "sh".to_owned();
    idle.args = vec!["-c".to_owned(), "echo $$ >> started; exec sleep 1000".to_owned()];
    folder.path().clone_into(&mut idle.folder);
    let options = Options { connect_timeout: Duration::from_secs(600), ..options(idle) };
    let connection = Connection::new(options);
    let started = || std::fs::read_to_string(folder.path().join("started")).unwrap_or_default();
    let attempt = tokio::spawn({
        let connection = connection.clone();
        async move { connection.connect().await }
    });
    wait_until("the server is started", async || started().ends_with('\n')).await;
    connection.close().await;
    let attempt = tokio::time::timeout(LIMIT, attempt).await.expect("the attempt ends").unwrap();
    assert_eq!(attempt.map(drop).unwrap_err(), ConnectionError::Closed);
    let process = format!("/proc/{}", started().trim());
    wait_until("the server has ended", async || !std::path::Path::new(&process).exists()).await;
    assert_eq!(call(&connection, "echo", json!({})).await.unwrap_err(), ConnectionError::Closed);
    assert_eq!(started().lines().count(), 1);
}
