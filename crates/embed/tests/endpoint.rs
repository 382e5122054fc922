//! The endpoint against a server that plays a script, one answer for each request.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "endpoint/server.rs"]
mod server;

use std::time::Duration;

use embed::{EmbedError, Embedder, Endpoint, EndpointOptions};
use serde_json::{Value, json};

use self::server::{Act, Server, answer};

const KEY: &str = "sk-very-secret-0123456789";
/// Long enough for every answer that comes, short enough to wait for one that does not.
const TIMEOUT: Duration = Duration::from_millis(1500);

fn endpoint(server: &Server, dimensions: Option<usize>) -> Endpoint {
    Endpoint::new(EndpointOptions {
        base_url: format!("{}/v1/", server.url()),
        model: "test-embedding".to_owned(),
        dimensions,
        api_key: Some(KEY.into()),
        timeout: TIMEOUT,
    })
    .unwrap()
}

/// Asks for one query while the server plays the script.
fn ask(script: Vec<Act>) -> (Result<Vec<f32>, EmbedError>, Vec<Value>) {
    let server = Server::start(script);
    let outcome = endpoint(&server, None).embed_query("where are tokens checked?");
    (outcome, server.stop())
}

/// What a caller reads when the script does not end well; it never holds the key.
fn failure(script: Vec<Act>) -> String {
    let error = ask(script).0.unwrap_err();
    let (shown, debug) = (error.to_string(), format!("{error:?}"));
    assert!(!shown.contains(KEY) && !debug.contains(KEY), "{shown} / {debug}");
    shown
}

fn vectors(vectors: &[&[f32]]) -> Act {
    let data: Vec<Value> = vectors
        .iter()
        .enumerate()
        .map(|(index, embedding)| json!({"object": "embedding", "index": index, "embedding": embedding}))
        .collect();
    answer(200, &json!({"object": "list", "data": data}).to_string())
}

#[test]
fn a_query_is_asked_as_the_protocol_says() {
    let (outcome, asked) = ask(vec![vectors(&[&[3.0, 4.0]])]);
    assert_eq!(outcome.unwrap(), [0.6, 0.8]);
    assert_eq!(
        asked,
        [json!({
            "line": "POST /v1/embeddings HTTP/1.1",
            "authorization": format!("Bearer {KEY}"),
            "body": {"model": "test-embedding", "input": ["where are tokens checked?"], "encoding_format": "float"},
        })]
    );
}

#[test]
fn documents_go_in_batches_and_keep_their_order() {
    let one_and_many = |count: usize| {
        let data: Vec<Value> =
            (0..count).rev().map(|n| json!({"index": n, "embedding": [1.0, n as f32]})).collect();
        answer(200, &json!({"data": data}).to_string())
    };
    let server = Server::start(vec![one_and_many(96), one_and_many(4)]);
    let texts: Vec<String> = (0..100).map(|n| format!("text {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = endpoint(&server, Some(2)).embed(&texts).unwrap();
    let order: Vec<f32> = vectors.iter().map(|vector| (vector[1] / vector[0]).round()).collect();
    let expected: Vec<f32> = (0..96).chain(0..4).map(|n| n as f32).collect();
    assert_eq!(order, expected);
    let asked = server.stop();
    assert_eq!(asked[0]["body"]["dimensions"], 2);
    let sizes: Vec<usize> =
        asked.iter().map(|asked| asked["body"]["input"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [96, 4]);
}

#[test]
fn long_documents_make_small_batches() {
    let server =
        Server::start(vec![vectors(&[&[1.0]]), vectors(&[&[1.0], &[1.0]]), vectors(&[&[1.0]])]);
    let (long, short) = ("x".repeat(300_000), "y".repeat(90_000));
    endpoint(&server, None).embed(&[&long, &short, &short, &short]).unwrap();
    assert_eq!(server.stop().len(), 3);
}

#[test]
fn what_passes_is_tried_again() {
    for passing in [
        answer(429, "{}"),
        answer(500, "oops"),
        answer(503, ""),
        Act::Close,
        Act::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"data\": [".to_vec()),
    ] {
        let (outcome, asked) = ask(vec![passing, vectors(&[&[0.0, 2.0]])]);
        assert_eq!(outcome.unwrap(), [0.0, 1.0]);
        assert_eq!(asked.len(), 2);
    }
}

#[test]
fn a_limit_that_lasts_is_said_with_its_time() {
    let busy = || {
        Act::Send(
            b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 30\r\ncontent-length: 0\r\n\r\n"
                .to_vec(),
        )
    };
    let (outcome, asked) = ask(vec![busy()]);
    let error = outcome.unwrap_err();
    assert_eq!(error.to_string(), "API rate limit exceeded");
    let EmbedError::RateLimited { retry_after } = error else { panic!("{error:?}") };
    assert_eq!(retry_after, Some(Duration::from_secs(30)));
    // Longer than a query may take, so nobody waits for it.
    assert_eq!(asked.len(), 1);
}

#[test]
fn a_query_is_tried_three_times_at_most() {
    let (outcome, asked) = ask(vec![answer(429, ""), answer(429, ""), answer(429, "")]);
    assert!(matches!(outcome, Err(EmbedError::RateLimited { retry_after: None })));
    assert_eq!(asked.len(), 3);
}

#[test]
fn what_stays_is_not_tried_again() {
    let hides = |status| {
        failure(vec![answer(
            status,
            &format!("{{\"error\": {{\"message\": \"Incorrect API key provided: {KEY}\"}}}}"),
        )])
    };
    assert_eq!(
        hides(401),
        "the embedding endpoint refused with status 401: it does not take the API key, or none was given"
    );
    assert_eq!(
        hides(400),
        "the embedding endpoint refused with status 400: Incorrect API key provided: …"
    );
    assert_eq!(
        failure(vec![answer(
            404,
            r#"{"error": "model \"x\" not found,\u0007\n try pulling it first"}"#
        )]),
        "the embedding endpoint refused with status 404: model \"x\" not found, try pulling it first"
    );
    // Cut off in the middle it would not be known as the key.
    let late = json!({"error": format!("{}{KEY}", "x".repeat(198))}).to_string();
    let late = failure(vec![answer(400, &late)]);
    assert!(late.ends_with("xx…"), "{late}");
    let long = failure(vec![answer(413, &json!({"error": "very ".repeat(9000)}).to_string())]);
    assert!(long.len() < 400, "{long}");
}

#[test]
fn a_redirect_is_not_followed() {
    let other = Server::start(vec![]);
    let elsewhere = format!(
        "HTTP/1.1 307 Moved\r\nlocation: {}/v1/embeddings\r\ncontent-length: 0\r\n\r\n",
        other.url()
    );
    assert_eq!(
        failure(vec![Act::Send(elsewhere.into_bytes())]),
        "the embedding endpoint refused with status 307: it points elsewhere, set base_url to the right address"
    );
    assert_eq!(other.stop(), [] as [Value; 0]);
}

#[test]
fn garbage_is_named_and_never_used() {
    let one = |text: &str| failure(vec![answer(200, text)]);
    let says = |what: &str| format!("the embedding endpoint answered with {what}");
    let no_json = says("something that is not the JSON of embeddings");
    for text in ["", "<html>", "{}", "[]", r#"{"data": {}}"#, r#"{"data": [{"embedding": [NaN]}]}"#]
    {
        assert_eq!(one(text), no_json, "{text}");
    }
    assert_eq!(one(r#"{"data": []}"#), says("0 vectors for 1 texts"));
    assert_eq!(one(r#"{"data": [{"embedding": []}]}"#), says("a vector that is empty or endless"));
    assert_eq!(
        one(r#"{"data": [{"embedding": [1e38, 1e38]}]}"#),
        says("a vector that is empty or endless")
    );
    assert_eq!(
        one(r#"{"data": [{"index": 7, "embedding": [1]}]}"#),
        says("a vector for text 7 of 1")
    );
    let endless = "1,".repeat(17 << 20);
    assert_eq!(one(&endless), says("more than 33554432 bytes"));
}

#[test]
fn vectors_have_the_dimensions_asked_for_and_keep_them() {
    let failing = |server: Server, dimensions, texts: &[&str]| {
        endpoint(&server, dimensions).embed(texts).unwrap_err().to_string()
    };
    let wrong = "the embedding endpoint answered with a vector of 2 dimensions instead of 3";
    let server = Server::start(vec![vectors(&[&[1.0, 1.0]])]);
    assert_eq!(failing(server, Some(3), &["a"]), wrong);
    let server = Server::start(vec![vectors(&[&[1.0, 1.0, 1.0], &[1.0, 1.0]])]);
    assert_eq!(failing(server, None, &["a", "b"]), wrong);

    let server = Server::start(vec![vectors(&[&[1.0, 1.0, 1.0]]), vectors(&[&[1.0, 1.0]])]);
    let endpoint = endpoint(&server, None);
    endpoint.embed_query("a").unwrap();
    assert_eq!(endpoint.embed_query("b").unwrap_err().to_string(), wrong);
}

#[test]
fn a_server_that_never_answers_is_left() {
    assert_eq!(failure(vec![Act::Hang]), "the embedding endpoint did not answer within 1.5s");
}

#[test]
fn a_server_that_is_not_there_is_named_by_its_address() {
    let server = Server::start(vec![]);
    let endpoint = endpoint(&server, None);
    let address = server.url().replace("http://", "");
    server.stop();
    assert_eq!(
        endpoint.embed_query("a").unwrap_err().to_string(),
        format!("the embedding endpoint is not available: {address} cannot be reached")
    );
}

#[test]
fn mistakes_in_the_configuration_are_named() {
    let new = |base_url: &str, api_key: &str| {
        let options = EndpointOptions {
            base_url: base_url.to_owned(),
            model: "m".to_owned(),
            dimensions: None,
            api_key: Some(api_key.into()),
            timeout: TIMEOUT,
        };
        Endpoint::new(options).err().map(|error| error.to_string()).unwrap_or_default()
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
fn texts_leave_the_machine_unless_the_server_is_on_it() {
    let remote = |base_url: &str| {
        let options = EndpointOptions {
            base_url: base_url.to_owned(),
            model: "m".to_owned(),
            dimensions: None,
            api_key: None,
            timeout: TIMEOUT,
        };
        Endpoint::new(options).unwrap().is_remote()
    };
    for here in ["http://localhost:11434/v1", "http://127.0.0.2/v1", "http://[::1]:80/v1"] {
        assert!(!remote(here), "{here}");
    }
    for elsewhere in ["https://api.openai.com/v1", "http://10.0.0.1/v1", "http://localhost.evil/v1"]
    {
        assert!(remote(elsewhere), "{elsewhere}");
    }
}

#[test]
fn the_model_is_told_by_address_name_and_dimensions() {
    let hash = |base_url: &str, model: &str, dimensions| {
        let options = EndpointOptions {
            base_url: base_url.to_owned(),
            model: model.to_owned(),
            dimensions,
            api_key: None,
            timeout: TIMEOUT,
        };
        Endpoint::new(options).unwrap().model().hash.clone()
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
fn it_may_be_called_from_the_blocking_threads_of_a_runtime() {
    let server = Server::start(vec![vectors(&[&[1.0]])]);
    let endpoint = endpoint(&server, None);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let outcome = runtime.block_on(async move {
        tokio::task::spawn_blocking(move || endpoint.embed_query("a").map(|vector| vector.len()))
            .await
    });
    assert_eq!(outcome.unwrap().unwrap(), 1);
}
