//! Endpoint tests against a scripted server with one response per request.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "endpoint/server.rs"]
mod server;

use std::time::Duration;

use embed::{EmbedError, Embedder, EndpointEmbedder, EndpointOptions};
use serde_json::{Value, json};

use self::server::{ScriptedServer, ServerReaction, respond};

const KEY: &str = "sk-very-secret-0123456789";
/// Long enough for every response on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);
/// For the server that never responds.
const SHORT_TIMEOUT: Duration = Duration::from_millis(1500);

fn endpoint(server: &ScriptedServer, dimensions: Option<usize>) -> EndpointEmbedder {
    endpoint_with_timeout(server, dimensions, TIMEOUT)
}

fn endpoint_with_timeout(
    server: &ScriptedServer,
    dimensions: Option<usize>,
    timeout: Duration,
) -> EndpointEmbedder {
    EndpointEmbedder::new(EndpointOptions {
        base_url: format!("{}/v1/", server.url()),
        model: "test-embedding".to_owned(),
        dimensions,
        api_key: Some(KEY.into()),
        timeout,
    })
    .unwrap()
}

/// Embeds one query against a scripted server and returns the result and the recorded requests.
fn run_query(script: Vec<ServerReaction>) -> (Result<Vec<f32>, EmbedError>, Vec<Value>) {
    let hangs = script.iter().any(|reaction| matches!(reaction, ServerReaction::Hang));
    let timeout = if hangs { SHORT_TIMEOUT } else { TIMEOUT };
    let server = ScriptedServer::start(script);
    let embedder = endpoint_with_timeout(&server, None, timeout);
    let outcome = embedder.embed_query("where are tokens checked?");
    (outcome, server.stop())
}

/// Returns the error message of a failing script and checks that it does not contain the key.
fn run_failing_query(script: Vec<ServerReaction>) -> String {
    let error = run_query(script).0.unwrap_err();
    let (shown, debug) = (error.to_string(), format!("{error:?}"));
    assert!(!shown.contains(KEY) && !debug.contains(KEY), "{shown} / {debug}");
    shown
}

fn respond_with_vectors(vectors: &[&[f32]]) -> ServerReaction {
    let data: Vec<Value> = vectors
        .iter()
        .enumerate()
        .map(|(index, embedding)| json!({"object": "embedding", "index": index, "embedding": embedding}))
        .collect();
    respond(200, &json!({"object": "list", "data": data}).to_string())
}

#[test]
fn query_request_follows_protocol() {
    let (outcome, requests) = run_query(vec![respond_with_vectors(&[&[3.0, 4.0]])]);
    assert_eq!(outcome.unwrap(), [0.6, 0.8]);
    assert_eq!(
        requests,
        [json!({
            "line": "POST /v1/embeddings HTTP/1.1",
            "authorization": format!("Bearer {KEY}"),
            "body": {"model": "test-embedding", "input": ["where are tokens checked?"], "encoding_format": "float"},
        })]
    );
}

#[test]
fn batches_documents_and_keeps_order() {
    let respond_with = |count: usize| {
        let data: Vec<Value> =
            (0..count).rev().map(|n| json!({"index": n, "embedding": [1.0, n as f32]})).collect();
        respond(200, &json!({"data": data}).to_string())
    };
    let server = ScriptedServer::start(vec![respond_with(96), respond_with(4)]);
    let texts: Vec<String> = (0..100).map(|n| format!("text {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = endpoint(&server, Some(2)).embed(&texts).unwrap();
    let order: Vec<f32> = vectors.iter().map(|vector| (vector[1] / vector[0]).round()).collect();
    let expected: Vec<f32> = (0..96).chain(0..4).map(|n| n as f32).collect();
    assert_eq!(order, expected);
    let requests = server.stop();
    assert_eq!(requests[0]["body"]["dimensions"], 2);
    let sizes: Vec<usize> =
        requests.iter().map(|request| request["body"]["input"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [96, 4]);
}

#[test]
fn batches_are_limited_by_size() {
    let server = ScriptedServer::start(vec![
        respond_with_vectors(&[&[1.0]]),
        respond_with_vectors(&[&[1.0], &[1.0]]),
        respond_with_vectors(&[&[1.0]]),
    ]);
    let (long, short) = ("x".repeat(300_000), "y".repeat(90_000));
    endpoint(&server, None).embed(&[&long, &short, &short, &short]).unwrap();
    assert_eq!(server.stop().len(), 3);
}

#[test]
fn retries_transient_failures() {
    for transient in [
        respond(429, "{}"),
        respond(500, "oops"),
        respond(503, ""),
        ServerReaction::Close,
        ServerReaction::Send(
            b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"data\": [".to_vec(),
        ),
    ] {
        let (outcome, requests) = run_query(vec![transient, respond_with_vectors(&[&[0.0, 2.0]])]);
        assert_eq!(outcome.unwrap(), [0.0, 1.0]);
        assert_eq!(requests.len(), 2);
    }
}

#[test]
fn rate_limit_reports_retry_after() {
    let busy = || {
        ServerReaction::Send(
            b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 30\r\ncontent-length: 0\r\n\r\n"
                .to_vec(),
        )
    };
    let (outcome, requests) = run_query(vec![busy()]);
    let error = outcome.unwrap_err();
    assert_eq!(error.to_string(), "API rate limit exceeded");
    let EmbedError::RateLimited { retry_after } = error else { panic!("{error:?}") };
    assert_eq!(retry_after, Some(Duration::from_secs(30)));
    // The delay exceeds the query timeout, so there is no retry.
    assert_eq!(requests.len(), 1);
}

#[test]
fn query_is_attempted_at_most_three_times() {
    let (outcome, requests) = run_query(vec![respond(429, ""), respond(429, ""), respond(429, "")]);
    assert!(matches!(outcome, Err(EmbedError::RateLimited { retry_after: None })));
    assert_eq!(requests.len(), 3);
}

#[test]
fn does_not_retry_permanent_failures() {
    let rejected = |status| {
        run_failing_query(vec![respond(
            status,
            &format!("{{\"error\": {{\"message\": \"Incorrect API key provided: {KEY}\"}}}}"),
        )])
    };
    assert_eq!(rejected(401), "embedding endpoint returned status 401: missing or invalid API key");
    assert_eq!(
        rejected(400),
        "embedding endpoint returned status 400: Incorrect API key provided: …"
    );
    assert_eq!(
        run_failing_query(vec![respond(
            404,
            r#"{"error": "model \"x\" not found,\u0007\n try pulling it first"}"#
        )]),
        "embedding endpoint returned status 404: model \"x\" not found, try pulling it first"
    );
    // A truncated key would not be recognized and removed.
    let late = json!({"error": format!("{}{KEY}", "x".repeat(198))}).to_string();
    let late = run_failing_query(vec![respond(400, &late)]);
    assert!(late.ends_with("xx…"), "{late}");
    let long =
        run_failing_query(vec![respond(413, &json!({"error": "very ".repeat(9000)}).to_string())]);
    assert!(long.len() < 400, "{long}");
}

#[test]
fn does_not_follow_redirects() {
    let other = ScriptedServer::start(vec![]);
    let elsewhere = format!(
        "HTTP/1.1 307 Moved\r\nlocation: {}/v1/embeddings\r\ncontent-length: 0\r\n\r\n",
        other.url()
    );
    assert_eq!(
        run_failing_query(vec![ServerReaction::Send(elsewhere.into_bytes())]),
        "embedding endpoint returned status 307: unexpected redirect; set base_url to the final address"
    );
    assert_eq!(other.stop(), [] as [Value; 0]);
}

#[test]
fn rejects_invalid_responses() {
    let one = |text: &str| run_failing_query(vec![respond(200, text)]);
    let invalid = |reason: &str| format!("invalid response from embedding endpoint: {reason}");
    let no_json = invalid("not an embeddings JSON object");
    for text in ["", "<html>", "{}", "[]", r#"{"data": {}}"#, r#"{"data": [{"embedding": [NaN]}]}"#]
    {
        assert_eq!(one(text), no_json, "{text}");
    }
    assert_eq!(one(r#"{"data": []}"#), invalid("expected 1 vectors, got 0"));
    assert_eq!(one(r#"{"data": [{"embedding": []}]}"#), invalid("empty or non-finite vector"));
    assert_eq!(
        one(r#"{"data": [{"embedding": [1e38, 1e38]}]}"#),
        invalid("empty or non-finite vector")
    );
    assert_eq!(
        one(r#"{"data": [{"index": 7, "embedding": [1]}]}"#),
        invalid("vector index 7 out of range for 1 texts")
    );
    let oversized = "1,".repeat(17 << 20);
    assert_eq!(one(&oversized), invalid("body exceeds 33554432 bytes"));
}

#[test]
fn rejects_vectors_with_other_dimensions() {
    let failing = |server: ScriptedServer, dimensions, texts: &[&str]| {
        endpoint(&server, dimensions).embed(texts).unwrap_err().to_string()
    };
    let wrong = "invalid response from embedding endpoint: expected 3 dimensions, got 2";
    let server = ScriptedServer::start(vec![respond_with_vectors(&[&[1.0, 1.0]])]);
    assert_eq!(failing(server, Some(3), &["a"]), wrong);
    let server =
        ScriptedServer::start(vec![respond_with_vectors(&[&[1.0, 1.0, 1.0], &[1.0, 1.0]])]);
    assert_eq!(failing(server, None, &["a", "b"]), wrong);

    let server = ScriptedServer::start(vec![
        respond_with_vectors(&[&[1.0, 1.0, 1.0]]),
        respond_with_vectors(&[&[1.0, 1.0]]),
    ]);
    let endpoint = endpoint(&server, None);
    endpoint.embed_query("a").unwrap();
    assert_eq!(endpoint.embed_query("b").unwrap_err().to_string(), wrong);
}

#[test]
fn times_out_when_server_hangs() {
    assert_eq!(
        run_failing_query(vec![ServerReaction::Hang]),
        "embedding endpoint did not respond within 1.5s"
    );
}

#[test]
fn unreachable_server_is_reported_with_its_address() {
    let server = ScriptedServer::start(vec![]);
    let endpoint = endpoint(&server, None);
    let address = server.url().replace("http://", "");
    server.stop();
    assert_eq!(
        endpoint.embed_query("a").unwrap_err().to_string(),
        format!("embedding endpoint unavailable: {address} is unreachable")
    );
}

#[test]
fn rejects_invalid_configuration() {
    let new = |base_url: &str, api_key: &str| {
        let options = EndpointOptions {
            base_url: base_url.to_owned(),
            model: "m".to_owned(),
            dimensions: None,
            api_key: Some(api_key.into()),
            timeout: TIMEOUT,
        };
        EndpointEmbedder::new(options).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let errors: Vec<String> = [
        ("", KEY),
        ("ftp://host/v1", KEY),
        ("localhost:11434/v1", KEY),
        ("https://me:hunter2@host/v1", KEY),
        ("https://host/v1?key=hunter2", KEY),
        ("https://host/v1", "two\nlines"),
    ]
    .map(|(base_url, key)| new(base_url, key))
    .into();
    assert!(errors.iter().all(|error| !error.contains("hunter2") && !error.contains(KEY)));
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn only_loopback_addresses_are_local() {
    let remote = |base_url: &str| {
        let options = EndpointOptions {
            base_url: base_url.to_owned(),
            model: "m".to_owned(),
            dimensions: None,
            api_key: None,
            timeout: TIMEOUT,
        };
        EndpointEmbedder::new(options).unwrap().is_remote()
    };
    for local in ["http://localhost:11434/v1", "http://127.0.0.2/v1", "http://[::1]:80/v1"] {
        assert!(!remote(local), "{local}");
    }
    for elsewhere in ["https://api.openai.com/v1", "http://10.0.0.1/v1", "http://localhost.evil/v1"]
    {
        assert!(remote(elsewhere), "{elsewhere}");
    }
}

#[test]
fn model_hash_depends_on_url_model_and_dimensions() {
    let hash = |base_url: &str, model: &str, dimensions| {
        let options = EndpointOptions {
            base_url: base_url.to_owned(),
            model: model.to_owned(),
            dimensions,
            api_key: None,
            timeout: TIMEOUT,
        };
        EndpointEmbedder::new(options).unwrap().model().hash.clone()
    };
    let one = hash("https://host/v1", "m", None);
    assert_eq!(one, hash("https://host/v1/", "m", None));
    for other in [
        hash("https://other/v1", "m", None),
        hash("https://host/v1", "n", None),
        hash("https://host/v1", "m", Some(256)),
    ] {
        assert_ne!(one, other);
    }
}

#[test]
fn works_on_blocking_threads_of_async_runtime() {
    let server = ScriptedServer::start(vec![respond_with_vectors(&[&[1.0]])]);
    let endpoint = endpoint(&server, None);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let outcome = runtime.block_on(async move {
        tokio::task::spawn_blocking(move || endpoint.embed_query("a").map(|vector| vector.len()))
            .await
    });
    assert_eq!(outcome.unwrap().unwrap(), 1);
}
