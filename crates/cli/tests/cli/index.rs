//! `vouch index` and the context tools from the shell: build, status, interruption and resumption.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Project, send_signal, wait_for_exit, with_filters};

/// Returns a project with a program and a rule about it, without embeddings.
fn project() -> Project {
    Project::new()
        .with("vouch.toml", "[context.embeddings]\nprovider = \"off\"\n")
        .with("AGENTS.md", "# Rules\n\n- Tokens must be stored hashed, never in plain text.\n")
        .with("src/tokens.py", "def issue_token(user):\n    return user\n")
}

pub(crate) fn with_endpoint(url: &str) -> Project {
    let table = format!("provider = \"endpoint\"\nbase_url = \"{url}\"\nmodel = \"m\"\n");
    project().with("vouch.toml", &format!("[context.embeddings]\n{table}timeout_ms = 60000\n"))
}

/// Starts an embeddings endpoint on a free port. `answer` gets the number of texts; `None` leaves the request unanswered.
pub(crate) fn start_embeddings_endpoint(
    answer: impl Fn(usize) -> Option<Value> + Send + 'static,
) -> String {
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

fn embed_texts(texts: usize) -> Option<Value> {
    let vector = |index| json!({"index": index, "embedding": [1.0, 0.0, index as f64]});
    Some(json!({"data": (0..texts).map(vector).collect::<Vec<_>>()}))
}

/// Removes the progress lines between the first and the last, because their number depends on the load of the machine.
fn without_middle_steps(text: &str) -> String {
    let is_middle_step = |line: &str| {
        let counts = line.strip_prefix("reading: ").and_then(|counts| counts.split_once(" of "));
        counts.is_some_and(|(done, all)| done != "0" && done != all)
    };
    text.lines().filter(|line| !is_middle_step(line)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn drops_intermediate_progress_lines() {
    let (fast, slow) = (
        "reading: 0 of 3\nreading: 3 of 3\n",
        "reading: 0 of 3\nreading: 2 of 3\nreading: 3 of 3\n",
    );
    assert_eq!(without_middle_steps(fast), fast);
    assert_eq!(without_middle_steps(slow), fast);
}

#[test]
fn builds_reports_and_rebuilds_index() {
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
    let status = project.run_json(&["index", "status", "--json"]);
    assert_eq!((&status["phase"], &status["files"]), (&json!("ready"), &json!(3)), "{status}");
}

/// `vouch index status` does not contact the endpoint, so that it has nothing to warn about.
#[test]
fn status_without_vectors_prints_no_warning() {
    let project = with_endpoint("http://127.0.0.1:1/v1");
    assert!(project.run_text(&["index", "--no-embeddings"]).starts_with("exit: 0"));
    let looked = project.run(&["index", "status"]);
    assert_eq!(String::from_utf8(looked.stderr).unwrap(), "");
    assert!(String::from_utf8(looked.stdout).unwrap().contains("vectors    0 of 3"));
}

#[test]
fn index_requires_context_pack() {
    let project = Project::new().with("vouch.toml", "packs = [\"repo\"]\n");
    insta::assert_snapshot!(project.run_text(&["index"]));
    assert!(!project.state().exists());
}

#[test]
fn read_only_commands_create_no_state() {
    let project = project();
    for args in [&["index", "status"][..], &["doctor"], &["tools"], &["contracts"]] {
        project.run(args);
        assert!(!project.state().exists(), "{args:?}");
    }
}

#[test]
fn calls_context_tools_from_shell() {
    let project = project();
    let found =
        project.run_json(&["call", "context_search", "query=how are tokens stored", "type=rule"]);
    let first = &found["results"][0]["content"];
    assert!(first.as_str().unwrap().contains("never in plain text"), "{found}");
    let found = project.run_json(&["call", "grep_codebase", "pattern=issue_\\w+"]);
    assert_eq!(found["matches"][0]["file"], "src/tokens.py", "{found}");
    let read = project.run_json(&["call", "read_file", "path=src/tokens.py"]);
    assert_eq!(read["file"]["language"], "python", "{read}");
}

#[test]
fn embeds_with_endpoint() {
    let project = with_endpoint(&start_embeddings_endpoint(embed_texts));
    assert!(project.run_text(&["index"]).starts_with("exit: 0"));
    let status = project.run_json(&["index", "status", "--json"]);
    assert_eq!(status["vectors"]["done"], status["vectors"]["all"], "{status}");
    assert_ne!(status["vectors"]["done"], 0, "{status}");
    assert_eq!(status["model"], "m", "{status}");
}

#[test]
fn interrupted_index_resumes() {
    let project = with_endpoint(&start_embeddings_endpoint(|_| None));
    let mut child = project.command(&["index"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut printed = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("embedding") {
        line.clear();
        assert_ne!(printed.read_line(&mut line).unwrap(), 0, "it ended before it embedded");
    }
    send_signal(&child, Signal::INT);
    assert_eq!(wait_for_exit(&mut child).code(), Some(130));
    let mut rest = String::new();
    printed.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("Run `vouch index` to continue"), "{rest}");
    let status = project.run_json(&["index", "status", "--json"]);
    assert_eq!((&status["files"], &status["pending"]), (&json!(3), &json!(0)), "{status}");
}

/// The cache entries left by a killed process are either valid or absent.
#[test]
fn killed_index_gives_same_answers_as_fresh_one() {
    let project = project();
    for n in 0..200 {
        let text = format!("def part_{n}(token):\n    return token + {n}\n");
        project.write(&format!("src/part{n}.py"), &text);
    }
    let answers = || {
        let found = project.run_json(&["call", "context_search", "query=part_7"]);
        let lines =
            project.run_json(&["call", "grep_codebase", "pattern=return token \\+ 1[0-9]$"]);
        let lines = lines["matches"].as_array().unwrap().iter();
        let places = lines.map(|line| format!("{}:{}", line["file"], line["text"]));
        (found["results"][0]["content"].clone(), places.collect::<Vec<_>>())
    };
    for n in 0..8 {
        project.write("src/part7.py", &format!("def part_7(token):\n    return token + 1{n}\n"));
        let mut child = project.command(&["index"]).stderr(Stdio::null()).spawn().unwrap();
        // Kills at various stages: start, reading, writing, end.
        std::thread::sleep(Duration::from_millis(n * 12));
        send_signal(&child, Signal::KILL);
        wait_for_exit(&mut child);
        let after = answers();
        std::fs::remove_dir_all(project.state()).unwrap();
        assert_eq!(after, answers());
    }
}

#[test]
fn doctor_probes_embeddings_endpoint() {
    let good = with_endpoint(&start_embeddings_endpoint(embed_texts));
    let bad = with_endpoint("http://127.0.0.1:1/v1");
    let line = |project: &Project| {
        let checks = project.run_json(&["doctor", "--json"]);
        let checks = checks["checks"].as_array().unwrap();
        checks.iter().find(|check| check["check"] == "vectors").unwrap().to_string()
    };
    with_filters(|| insta::assert_snapshot!([line(&good), line(&bad)].join("\n")));
}
