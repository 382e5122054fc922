//! Both eras over standard input and output, and everything a server can do wrong there.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use link::{Bounds, Call, Era, Link, LinkError, Options, Resume, Status, Turn};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

use crate::support::{
    LIMIT, Thinker, answer, askable, call, child, object, options, program, turn, until, words,
};

#[tokio::test]
async fn both_eras_and_every_fallback() {
    for (mode, era, protocol, name) in [
        ("stateless", Era::Stateless, "2026-07-28", "scripted"),
        ("handshake", Era::Handshake, "2025-11-25", "scripted\\u{202e}"),
        ("dies-at-first", Era::Handshake, "2025-11-25", "scripted\\u{202e}"),
    ] {
        let link = child(mode);
        assert_eq!(link.status(), Status::Never);
        let server = link.connect().await.unwrap();
        assert_eq!(
            (server.era, server.protocol.as_str(), server.name.as_str()),
            (era, protocol, name)
        );
        assert_eq!(link.status(), Status::Connected(server));
        let tools = link.tools().await.unwrap();
        assert_eq!(tools[0].to_string(), r#"{"name":"echo","zeta":1,"alpha":2}"#);
        assert_eq!(tools[1]["name"], "hang");
        let answer = call(&link, "echo", json!({ "z": 1, "a": [0.1, "é"] })).await.unwrap();
        assert_eq!(answer.structured.unwrap().to_string(), r#"{"z":1,"a":[0.1,"é"]}"#);
        assert!(answer.raw.get().starts_with(r#"{"content": [{"type": "text", "#));
        link.close().await;
        assert_eq!(link.status(), Status::Closed);
        assert_eq!(link.connect().await, Err(LinkError::Closed));
    }
}

#[tokio::test]
async fn a_server_that_ignores_the_probe_is_asked_the_old_way() {
    let link = Link::new(Options {
        connect_timeout: Duration::from_millis(1500),
        ..options(program("silent"))
    });
    assert_eq!(link.connect().await.unwrap().era, Era::Handshake);
}

#[tokio::test]
async fn an_unknown_revision_is_an_error() {
    let mut old = program("handshake");
    old.env.insert("VERSION".to_owned(), "1999".into());
    let error = Link::new(options(old)).connect().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server breaks the protocol: it speaks the unknown revision 1999"
    );
}

#[tokio::test]
async fn every_request_of_the_stateless_era_says_who_asks() {
    let link = child("stateless");
    let arguments = Map::new();
    let seen = Call { traceparent: Some("00-1-2-01"), ..askable("seen", &arguments) };
    let seen = answer(link.call(seen).await.unwrap()).structured.unwrap();
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
async fn calls_that_are_dropped_disturb_no_others() {
    let link = child("handshake");
    let calls: Vec<_> = (0..600u64)
        .map(|number| {
            let link = link.clone();
            tokio::spawn(async move {
                // Larger than a pipe holds, so that some are dropped half written.
                let padding = "x".repeat(if number % 7 == 0 { 100_000 } else { 10 });
                let echo = call(&link, "echo", json!({ "number": number, "padding": padding }));
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
    assert_eq!(link.oddities().garbage, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn answers_find_their_calls() {
    let link = child("handshake");
    link.connect().await.unwrap();
    let held: Vec<_> = (0..50)
        .map(|number| {
            let link = link.clone();
            tokio::spawn(async move { call(&link, "hold", json!({ "number": number })).await })
        })
        .collect();
    until("all calls are held", async || {
        let seen = call(&link, "seen", json!({})).await.unwrap().structured.unwrap();
        seen["requests"].to_string().matches("\"hold\"").count() == 50
    })
    .await;
    assert_eq!(words(&link, "release", json!({})).await, "released 50");
    for (number, held) in held.into_iter().enumerate() {
        let answer = held.await.unwrap().unwrap();
        assert_eq!(answer.structured.unwrap()["number"], number);
    }
}

#[tokio::test]
async fn what_nobody_asked_for_is_counted_and_dropped() {
    let link = child("handshake");
    assert_eq!(words(&link, "twice", json!({})).await, "first");
    assert_eq!(words(&link, "foreign", json!({})).await, "own");
    assert_eq!(words(&link, "garbage", json!({})).await, "after garbage");
    assert_eq!(words(&link, "stderr", json!({})).await, "after the flood");
    let oddities = link.oddities();
    assert_eq!((oddities.stray_answers, oddities.garbage), (3, 6));
    until("the last words", async || link.stderr().ends_with("\\u{1b}[31mlast words")).await;
    assert!(link.stderr().len() <= 9000);
}

#[tokio::test]
async fn bounds_hold_before_anything_is_parsed() {
    let link = child("handshake");
    for last in [false, true] {
        let error = call(&link, "big", json!({ "last": last })).await.unwrap_err();
        assert!(
            matches!(error, LinkError::TooLarge { size: 20_000_000.., limit: 16_777_216 }),
            "{error}"
        );
    }
    assert_eq!(call(&link, "deep", json!({})).await.unwrap_err(), LinkError::TooDeep { limit: 64 });
    let mut errors = Vec::new();
    for result in
        ["{\"content\":[],\"n\":123456789012345678901234567890}", "[]", "{\"content\":7}", "null"]
    {
        errors.push(call(&link, "raw", json!({ "result": result })).await.unwrap_err().to_string());
    }
    errors.push(call(&link, "fail", json!({})).await.unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"), @r"
    the number 123456789012345678901234567890 is beyond 64 bits and cannot be checked exactly
    the server breaks the protocol: a result must be an object
    the server breaks the protocol: `content` of the result has the wrong type
    the server breaks the protocol: an answer needs either a result or an error
    the server refused with error -32602: no \u{1b}[1m[secret]
    ");
    // The same connection still serves.
    assert_eq!(words(&link, "echo", json!({})).await, "ok");
    assert_eq!(link.oddities().oversized, 2);
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_and_forgotten() {
    for mode in ["handshake", "stateless"] {
        let link = child(mode);
        link.connect().await.unwrap();
        let dropped =
            tokio::time::timeout(Duration::from_millis(50), turn(&link, "hang", json!({}))).await;
        assert!(dropped.is_err());
        until("the server hears of it", async || {
            let cancelled = call(&link, "cancelled", json!({})).await.unwrap().structured.unwrap();
            cancelled["ids"].as_array().unwrap().len() == 1
        })
        .await;
    }
}

#[tokio::test]
async fn a_call_whose_server_dies_fails_at_once_and_the_next_heals() {
    let link = child("handshake");
    let mut changed = link.list_changed();
    let bystander = {
        let link = link.clone();
        tokio::spawn(async move { call(&link, "hang", json!({})).await })
    };
    until("the other call is under way", async || {
        let seen = call(&link, "seen", json!({})).await.unwrap().structured.unwrap();
        seen["requests"].to_string().contains("\"hang\"")
    })
    .await;
    let error = call(&link, "die", json!({})).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server is unavailable: it ended with status 3; it last said: fatal: \\u{1b}[31mout of luck [secret]"
    );
    assert!(matches!(error, LinkError::Unavailable { may_have_run: true, .. }));
    assert_eq!(bystander.await.unwrap().unwrap_err(), error);
    assert_eq!(words(&link, "echo", json!({})).await, "ok");
    assert!(changed.has_changed().unwrap());
    changed.mark_unchanged();
    // Nobody calls, and it heals all the same.
    call(&link, "die", json!({})).await.unwrap_err();
    until("it heals by itself", async || matches!(link.status(), Status::Connected(_))).await;
}

#[tokio::test]
async fn a_call_under_way_may_have_run_when_we_close() {
    let link = child("handshake");
    let under_way = tokio::spawn({
        let link = link.clone();
        async move { call(&link, "hang", json!({})).await }
    });
    until("it is under way", async || {
        let seen = call(&link, "seen", json!({})).await.unwrap().structured.unwrap();
        seen["requests"].to_string().contains("\"hang\"")
    })
    .await;
    link.close().await;
    assert_eq!(
        under_way.await.unwrap().unwrap_err(),
        LinkError::Unavailable {
            reason: "the connection was closed by us".to_owned(),
            may_have_run: true,
        }
    );
}

#[tokio::test]
async fn listings_end() {
    let listed = async |pages: &str| {
        let mut program = program("handshake");
        program.env.insert("PAGES".to_owned(), pages.into());
        Link::new(options(program)).tools().await.unwrap_err().to_string()
    };
    insta::assert_snapshot!(
        [listed("circle").await, listed("endless").await, listed("many").await].join("\n"), @r"
    the server breaks the protocol: its listing of tools goes in circles (a cursor came twice)
    the server offers more than 100 pages of tools
    the server offers more than 10000 tools
    ");
    let mut toolless = program("handshake");
    toolless.env.insert("PAGES".to_owned(), "none".into());
    assert_eq!(Link::new(options(toolless)).tools().await, Ok(Vec::new()));
}

#[tokio::test]
async fn progress_reaches_its_call_and_changes_reach_all() {
    let link = child("stateless");
    let steps = Arc::new(Mutex::new(Vec::new()));
    let arguments = Map::new();
    let sink = steps.clone();
    let progress = Call {
        progress: Some(Arc::new(move |step| sink.lock().unwrap().push(step))),
        ..Call::new("progress", &arguments)
    };
    link.call(progress).await.unwrap();
    let steps: Vec<_> = steps
        .lock()
        .unwrap()
        .iter()
        .map(|step| (step.done, step.total, step.message.clone()))
        .collect();
    let step = |done: f64| (done, Some(2.0), Some(format!("step {done}")));
    assert_eq!(steps, [step(1.0), step(2.0)]);
    let mut changed = link.list_changed();
    call(&link, "change", json!({})).await.unwrap();
    changed.changed().await.unwrap();
}

#[tokio::test]
async fn questions_of_the_stateless_era_end_the_turn() {
    let link = child("stateless");
    let arguments = object(json!({ "keep": true }));
    let Turn::Ask { requests, state } = link.call(askable("ask", &arguments)).await.unwrap() else {
        panic!("it should ask");
    };
    assert_eq!(requests["q"]["method"], "elicitation/create");
    // Whoever did not offer to be asked is not.
    let error = link.call(Call::new("ask", &arguments)).await.unwrap_err();
    assert!(matches!(error, LinkError::Malformed { .. }), "{error}");
    let resume = Resume { state, answers: object(json!({ "q": { "action": "accept" } })) };
    let second = Call { resume: Some(resume), ..askable("ask", &arguments) };
    let answer = answer(link.call(second).await.unwrap());
    assert_eq!(answer.structured, Some(json!({ "answers": { "q": { "action": "accept" } } })));
}

#[tokio::test]
async fn questions_of_the_handshake_era_go_to_the_call_or_to_nobody() {
    let link = child("handshake");
    let asked = async |call: Call<'_>| answer(link.call(call).await.unwrap()).structured.unwrap();
    let none = Map::new();
    let answered = asked(askable("elicit", &none)).await;
    assert_eq!(
        answered["result"]["content"],
        json!({ "method": "elicitation/create", "message": "sure?" })
    );
    // Sampling was never offered, an unknown method does not exist, and a ping is answered.
    for (method, code) in [("sampling/createMessage", -32601), ("tools/list", -32601)] {
        let arguments = object(json!({ "method": method }));
        assert_eq!(asked(askable("elicit", &arguments)).await["error"]["code"], code);
    }
    let elsewhere = object(json!({ "more": { "mode": "url" } }));
    assert_eq!(asked(askable("elicit", &elsewhere)).await["error"]["code"], -32602);
    let ping = object(json!({ "method": "ping" }));
    assert_eq!(asked(Call::new("elicit", &ping)).await, json!({ "result": {} }));
    assert_eq!(asked(Call::new("elicit", &none)).await["error"]["code"], -32603);
}

#[tokio::test]
async fn a_flood_of_questions_is_declined() {
    for (same, declined) in [(true, 199), (false, 136)] {
        let link = child("handshake");
        let arguments = object(json!({ "same": same, "times": 200 }));
        let asker = Arc::new(Thinker::default());
        let flood = Call { asker: Some(asker.clone()), ..askable("flood", &arguments) };
        link.call(flood).await.unwrap();
        assert_eq!(link.oddities().declined, declined);
        assert!(asker.asked.load(Ordering::SeqCst) <= 200 - declined as usize);
        until("nobody is asked any more", async || asker.open.load(Ordering::SeqCst) == 0).await;
    }
    let link = child("handshake");
    let large = object(json!({ "more": { "padding": "x".repeat(300_000) } }));
    let asked = answer(link.call(askable("elicit", &large)).await.unwrap()).structured.unwrap();
    assert_eq!(
        asked["error"],
        json!({ "code": -32602, "message": "the question has over 262144 bytes" })
    );
}

/// Has a call under way that is never answered, until it is aborted.
async fn hanging(link: &Arc<Link>) -> JoinHandle<()> {
    let hanging = tokio::spawn({
        let link = link.clone();
        async move {
            let _ = link.call(askable("hang", &Map::new())).await;
        }
    });
    until("the other call is under way", async || {
        let seen = call(link, "seen", json!({})).await.unwrap().structured.unwrap();
        seen["requests"].to_string().contains("\"hang\"")
    })
    .await;
    hanging
}

async fn asked(link: &Link) -> Value {
    let none = Map::new();
    let asked = tokio::time::timeout(LIMIT, link.call(askable("elicit", &none))).await;
    answer(asked.expect("an answer in time").unwrap()).structured.unwrap()
}

/// A question comes that could be about two calls.
async fn confused(link: &Arc<Link>) {
    let other = hanging(link).await;
    assert_eq!(asked(link).await["error"]["code"], -32603);
    assert_eq!(link.oddities().declined, 1);
    other.abort();
    let _ = other.await;
}

#[tokio::test]
async fn a_question_that_two_calls_could_mean_makes_them_take_turns() {
    let link = child("handshake");
    confused(&link).await;
    let (first, second) = tokio::join!(asked(&link), asked(&link));
    assert!(first["result"].is_object() && second["result"].is_object(), "{first} {second}");
    assert_eq!(link.oddities().declined, 1);
    // A new connection begins anew: nobody waits for a turn.
    call(&link, "die", json!({})).await.unwrap_err();
    let other = hanging(&link).await;
    assert_eq!(asked(&link).await["error"]["code"], -32603);
    other.abort();
}

#[tokio::test]
async fn others_go_on_while_somebody_thinks() {
    let link = child("handshake");
    confused(&link).await;
    let asker = Arc::new(Thinker::default());
    let thinking = tokio::spawn({
        let (link, asker) = (link.clone(), asker.clone());
        async move {
            let none = Map::new();
            let call = Call { asker: Some(asker), ..askable("elicit", &none) };
            answer(link.call(call).await.unwrap()).structured.unwrap()
        }
    });
    until("somebody thinks", async || asker.open.load(Ordering::SeqCst) == 1).await;
    let none = Map::new();
    link.call(askable("echo", &none)).await.unwrap();
    // What is asked meanwhile could be about either, and is put to neither.
    assert_eq!(asked(&link).await["error"]["code"], -32603);
    assert_eq!(asker.asked.load(Ordering::SeqCst), 1);
    // One that never ends keeps no answer back.
    let other = hanging(&link).await;
    asker.answer.notify_one();
    assert!(thinking.await.unwrap()["result"].is_object());
    assert_eq!(link.oddities().declined, 2);
    other.abort();
}

#[tokio::test]
async fn a_dead_server_delays_nobody() {
    let mut missing = program("handshake");
    missing.command = "no-such-program".to_owned();
    let link = Link::new(options(missing));
    let (first, second) = tokio::join!(link.connect(), link.connect());
    assert_eq!(first, second);
    let error = first.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the program cannot be started: there is no program \"no-such-program\" in \
         /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin: give its whole path, or name PATH in its env"
    );
    assert_eq!(call(&link, "echo", json!({})).await.unwrap_err(), error);
    let Status::Lost { reason, .. } = link.status() else { panic!("it should be lost") };
    assert_eq!(reason, error.to_string());
    let keeperless = link::Program { keeper: Vec::new(), ..program("handshake") };
    let error = Link::new(options(keeperless)).connect().await.unwrap_err();
    assert!(matches!(error, LinkError::Program { .. }), "{error}");
}

#[tokio::test]
async fn a_server_cannot_pose_as_its_keeper() {
    let mut impostor = program("handshake");
    let line = r#"{"vouch-keeper":"0","sandbox":"switch it off"}"#;
    (impostor.command, impostor.args) = ("echo".to_owned(), vec![line.to_owned()]);
    let link = Link::new(options(impostor));
    assert_eq!(
        link.connect().await.unwrap_err().to_string(),
        "the server is unavailable: it ended"
    );
    assert!(link.oddities().garbage > 0);
}

#[tokio::test]
async fn a_child_that_never_answers_is_given_up() {
    let mut idle = program("handshake");
    (idle.command, idle.args) = ("sleep".to_owned(), vec!["1000".to_owned()]);
    let link = Link::new(Options {
        connect_timeout: Duration::from_millis(300),
        bounds: Bounds::default(),
        ..options(idle)
    });
    let error = link.connect().await.unwrap_err();
    assert_eq!(error.to_string(), "the server is unavailable: connecting takes longer than 300 ms");
    assert!(matches!(error, LinkError::Unavailable { may_have_run: false, .. }));
}
