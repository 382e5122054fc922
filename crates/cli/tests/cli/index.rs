//! `vouch index` and the context tools from the shell: built, looked at, stopped and gone on with.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Project, send_signal, wait, with_filters};

/// A program with a rule about it, searched by words unless a test says otherwise.
fn project() -> Project {
    Project::new()
        .with("vouch.toml", "[context.embeddings]\nprovider = \"off\"\n")
        .with("AGENTS.md", "# Rules\n\n- Tokens must be stored hashed, never in plain text.\n")
        .with("src/tokens.py", "def issue_token(user):\n    return user\n")
}

fn with_endpoint(url: &str) -> Project {
    let table = format!("provider = \"endpoint\"\nbase_url = \"{url}\"\nmodel = \"m\"\n");
    project().with("vouch.toml", &format!("[context.embeddings]\n{table}timeout_ms = 60000\n"))
}

/// An endpoint for embeddings on a free port: answers each request as it is told, or never.
fn endpoint(answer: impl Fn(usize) -> Option<Value> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap() <= 2 {
                    break;
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            let texts = body["input"].as_array().map_or(1, Vec::len);
            match answer(texts) {
                Some(answer) => {
                    let answer = answer.to_string();
                    let length = answer.len();
                    let head = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
                    );
                    stream.write_all(format!("{head}{answer}").as_bytes()).unwrap();
                }
                None => open.push(stream),
            }
        }
    });
    format!("http://{address}/v1")
}

fn vectors(texts: usize) -> Option<Value> {
    let vector = |index| json!({"index": index, "embedding": [1.0, 0.0, index as f64]});
    Some(json!({"data": (0..texts).map(vector).collect::<Vec<_>>()}))
}

/// The text without progress lines between none and all: how many there are depends on how busy the machine is.
fn without_middle_steps(text: &str) -> String {
    let is_middle_step = |line: &str| {
        let counts = line.strip_prefix("reading: ").and_then(|counts| counts.split_once(" of "));
        counts.is_some_and(|(done, all)| done != "0" && done != all)
    };
    text.lines().filter(|line| !is_middle_step(line)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn middle_steps_of_progress_are_dropped() {
    let (fast, slow) = (
        "reading: 0 of 3\nreading: 3 of 3\n",
        "reading: 0 of 3\nreading: 2 of 3\nreading: 3 of 3\n",
    );
    assert_eq!(without_middle_steps(fast), fast);
    assert_eq!(without_middle_steps(slow), fast);
}

#[test]
fn build_look_and_build_again() {
    let project = project();
    let commands: [&[&str]; 5] = [
        &["index", "status"],
        &["index"],
        &["index", "status"],
        &["index", "rebuild", "--no-embeddings"],
        &["index", "--quiet"],
    ];
    let text = without_middle_steps(&project.transcript(&commands));
    with_filters(|| insta::assert_snapshot!(text));
    let status = project.json(&["index", "status", "--json"]);
    assert_eq!((&status["phase"], &status["files"]), (&json!("ready"), &json!(3)), "{status}");
}

/// Looking asks nobody for vectors, so it has nothing to complain about.
#[test]
fn an_index_without_its_vectors_is_looked_at_in_peace() {
    let project = with_endpoint("http://127.0.0.1:1/v1");
    assert!(project.check(&["index", "--no-embeddings"]).starts_with("exit: 0"));
    let looked = project.run(&["index", "status"]);
    assert_eq!(String::from_utf8(looked.stderr).unwrap(), "");
    assert!(String::from_utf8(looked.stdout).unwrap().contains("vectors    0 of 3"));
}

#[test]
fn there_is_no_index_without_the_pack() {
    let project = Project::new().with("vouch.toml", "packs = [\"repo\"]\n");
    insta::assert_snapshot!(project.check(&["index"]));
    assert!(!project.root.join(".vouch").exists());
}

#[test]
fn looking_makes_nothing() {
    let project = project();
    for args in [&["index", "status"][..], &["doctor"], &["tools"], &["contracts"]] {
        project.run(args);
        assert!(!project.root.join(".vouch").exists(), "{args:?}");
    }
}

#[test]
fn one_call_from_the_shell() {
    let project = project();
    let found =
        project.json(&["call", "context_search", "query=how are tokens stored", "type=rule"]);
    let first = &found["results"][0]["content"];
    assert!(first.as_str().unwrap().contains("never in plain text"), "{found}");
    let found = project.json(&["call", "grep_codebase", "pattern=issue_\\w+"]);
    assert_eq!(found["matches"][0]["file"], "src/tokens.py", "{found}");
    let read = project.json(&["call", "read_file", "path=src/tokens.py"]);
    assert_eq!(read["file"]["language"], "python", "{read}");
}

#[test]
fn an_endpoint_makes_the_vectors() {
    let project = with_endpoint(&endpoint(vectors));
    assert!(project.check(&["index"]).starts_with("exit: 0"));
    let status = project.json(&["index", "status", "--json"]);
    assert_eq!(status["vectors"]["done"], status["vectors"]["all"], "{status}");
    assert_ne!(status["vectors"]["done"], 0, "{status}");
    assert_eq!(status["model"], "m", "{status}");
}

#[test]
fn an_index_that_is_stopped_is_gone_on_with() {
    let project = with_endpoint(&endpoint(|_| None));
    let mut child = project.command(&["index"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("embedding") {
        line.clear();
        assert_ne!(said.read_line(&mut line).unwrap(), 0, "it ended before it embedded");
    }
    send_signal(&child, Signal::INT);
    assert_eq!(wait(&mut child).code(), Some(130));
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("Go on with: vouch index"), "{rest}");
    let status = project.json(&["index", "status", "--json"]);
    assert_eq!((&status["files"], &status["pending"]), (&json!(3), &json!(0)), "{status}");
}

/// What a process that was killed has left in the cache is right or not there.
#[test]
fn an_index_that_is_killed_answers_like_one_that_never_was() {
    let project = project();
    for n in 0..200 {
        let text = format!("def part_{n}(token):\n    return token + {n}\n");
        project.write(&format!("src/part{n}.py"), &text);
    }
    let answers = || {
        let found = project.json(&["call", "context_search", "query=part_7"]);
        let lines = project.json(&["call", "grep_codebase", "pattern=return token \\+ 1[0-9]$"]);
        let lines = lines["matches"].as_array().unwrap().iter();
        let places = lines.map(|line| format!("{}:{}", line["file"], line["text"]));
        (found["results"][0]["content"].clone(), places.collect::<Vec<_>>())
    };
    for n in 0..8 {
        project.write("src/part7.py", &format!("def part_7(token):\n    return token + 1{n}\n"));
        let mut child = project.command(&["index"]).stderr(Stdio::null()).spawn().unwrap();
        // Sooner or later: at the start, while it reads, while it writes, when it is done.
        std::thread::sleep(Duration::from_millis(n * 12));
        send_signal(&child, Signal::KILL);
        wait(&mut child);
        let after = answers();
        std::fs::remove_dir_all(project.root.join(".vouch")).unwrap();
        assert_eq!(after, answers());
    }
}

#[test]
fn the_doctor_tries_the_endpoint() {
    let good = with_endpoint(&endpoint(vectors));
    let bad = with_endpoint("http://127.0.0.1:1/v1");
    let line = |project: &Project| {
        let checks = project.json(&["doctor", "--json"]);
        let checks = checks["checks"].as_array().unwrap();
        checks.iter().find(|check| check["check"] == "vectors").unwrap().to_string()
    };
    with_filters(|| insta::assert_snapshot!([line(&good), line(&bad)].join("\n")));
}
