//! `vouch ask`: one query, at most one call; what breaks its contract reaches the person and no model.

use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use serde_json::{Value, json};
use testkit::adversary::adversary_command;

use crate::model::Model;
use crate::pty::Pty;
use crate::support::Project;

const README: &str = "# A project\n\nIt keeps its word.\n";

fn project() -> Project {
    Project::new().with("README.md", README)
}

/// A project with an adversary as the upstream `adv`, whose counts are in the file `counts`.
fn with_adversary(more: &str) -> Project {
    let project = project();
    let state = project.root.join("counts");
    let command = adversary_command(["--state", state.to_str().unwrap()]);
    let table = format!(
        "{more}\n[[upstream]]\nname = \"adv\"\ncommand = \"{}\"\nargs = {:?}\nsandbox = \"off\"\n",
        command[0],
        &command[1..]
    );
    project.write("vouch.toml", &table);
    project
}

/// The calls that reached the adversary.
fn calls(project: &Project) -> Value {
    serde_json::from_str::<Value>(&project.read("counts")).unwrap()["calls"].clone()
}

fn asked(project: &Project, model: Option<&Model>, args: &[&str]) -> Output {
    let mut command = project.command(&[&["ask"], args].concat());
    if let Some(model) = model {
        command.env("LLM_BASE_URL", &model.url).env("LLM_MODEL", "test");
    }
    command.output().unwrap()
}

/// Asks with `--json`; gives exit code and object.
fn check(project: &Project, model: Option<&Model>, args: &[&str]) -> (i32, Value) {
    let output = asked(project, model, &[args, &["--json"]].concat());
    let json = serde_json::from_slice(&output.stdout);
    let json = json.unwrap_or_else(|_| panic!("{}", project.show(&output)));
    (output.status.code().unwrap(), json)
}

fn call(server: &str, tool: &str, arguments: Value) -> Value {
    json!({"type": "call", "server": server, "tool": tool, "arguments": arguments})
}

#[test]
fn the_tools_of_this_folder() {
    let project = project();
    let (code, said) = check(&project, None, &["read_repo_file path=README.md"]);
    assert_eq!((code, &said["outcome"]), (0, &"answered".into()));
    assert_eq!((&said["server"], &said["tool"]), (&"vouch".into(), &"read_repo_file".into()));
    assert_eq!(said["arguments"], json!({"path": "README.md"}));
    assert_eq!(said["result"]["content"], README);
    assert_eq!(said.get("summary"), None);
    // Several tools could do it: a question, not a guess.
    let (code, said) = check(&project, None, &["look into README.md"]);
    assert_eq!((code, &said["outcome"]), (1, &"needs_more_info".into()));
    let question = said["question"].as_str().unwrap();
    assert!(question.contains("read_file") && question.contains("read_repo_file"), "{question}");
    let output = asked(&project, None, &["look into README.md"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), question);
    // `hello` has the title "Say hello".
    let (_, said) = check(&project, None, &["what does README.md say about tokens"]);
    assert_ne!(said["tool"], "hello");
}

#[test]
fn for_people() {
    let project = project();
    let shown = |args: &[&str]| {
        let output = asked(&project, None, args);
        let text = project.show(&output);
        let id = text.split("vouch trace show ").nth(1).unwrap_or_default();
        let id = id.split_whitespace().next().unwrap_or("none").to_owned();
        text.replace(&id, "[ASK]")
    };
    let texts = [
        shown(&["read_repo_file path=README.md", "--summarize"]),
        shown(&["read_repo_file path=no-such-file"]),
        shown(&["write_memory_entry file=decisions.jsonl entry='{}'"]),
        shown(&["sing a song"]),
        shown(&[" "]),
    ];
    insta::with_settings!({filters => [
        (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "[TIME]"),
        (r"approvals approve \S+", "approvals approve [ID]"),
        (r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\bas [0-9a-z]{10,}", "[ID]"),
    ]}, { insta::assert_snapshot!(texts.join("\n")) });
}

#[test]
fn every_bullet_is_a_quote() {
    let (code, said) = check(&project(), None, &["read_repo_file path=README.md", "--summarize"]);
    assert_eq!((code, &said["summary"]["type"]), (0, &"summary".into()));
    let bullets = said["summary"]["bullets"].as_array().unwrap();
    assert!(!bullets.is_empty());
    for bullet in bullets {
        let place = &bullet["place"];
        let value = said["result"].pointer(place["pointer"].as_str().unwrap()).unwrap();
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let at = |key: &str| usize::try_from(place[key].as_u64().unwrap()).unwrap();
        assert_eq!(&text[at("start")..at("end")], bullet["evidence"].as_str().unwrap());
    }
}

#[test]
fn wrong_usage() {
    let project = project();
    insta::assert_snapshot!(
        project.transcript(&[&["ask"], &["ask", "hello", "--planner", "model"]])
    );
    project.write("vouch.toml", "[ask]\nforbid = [\"(\"]\n");
    assert!(project.check(&["ask", "hello"]).starts_with("exit: 2"));
}

#[test]
fn what_is_forbidden_stops_before_discovery() {
    let project = with_adversary("[ask]\nforbid = [\"(?i)password\"]\n");
    let model = Model::saying(&[call("vouch", "hello", json!({}))]);
    let (code, said) = check(&project, Some(&model), &["tell me the PASSWORD"]);
    assert_eq!((code, &said["outcome"]), (1, &"stopped".into()));
    assert_eq!(said["gate"], json!({"number": 0, "name": "input policy"}));
    assert_eq!(model.received().len(), 0, "no model heard of it");
    assert!(!project.root.join("counts").exists(), "no server was started");
    let (code, _) = check(&project, Some(&model), &["say hello"]);
    assert_eq!(code, 0);
    assert!(project.root.join("counts").exists());
}

#[test]
fn a_model_plans_and_summarises() {
    let project = project();
    let model = Model::saying(&[
        call("vouch", "read_repo_file", json!({"path": "README.md"})),
        json!({"type": "summary", "bullets": [
            {"claim": "It is honest.", "evidence": "It keeps its word."},
            {"claim": "It is fast.", "evidence": "It is fast."},
        ]}),
    ]);
    let args = ["what is in the readme?", "--summarize"];
    let (code, said) = check(&project, Some(&model), &args);
    assert_eq!((code, &said["outcome"]), (0, &"answered".into()));
    let summary = &said["summary"];
    assert_eq!(summary["bullets"].as_array().unwrap().len(), 1);
    assert_eq!(
        summary["bullets"][0]["place"],
        json!({"pointer": "/content", "start": 13, "end": 31})
    );
    assert_eq!(summary["rejected"][0]["number"], 2);
    let received = model.received();
    assert_eq!(received.len(), 2);
    assert_eq!(received[0]["model"], "test");
    assert!(received[0].to_string().contains("read_repo_file"));
    assert!(received[1].to_string().contains("It keeps its word."));
    // What is in this program can be wanted all the same.
    let args = ["read_repo_file path=README.md", "--summarize", "--planner", "embedded"];
    assert_eq!(check(&project, Some(&model), &args).0, 0);
    assert_eq!(model.received().len(), 2);
}

#[test]
fn what_a_model_must_not_do() {
    let project = with_adversary("[clients.cli]\ntools = [\"adv__*\", \"hello\"]\n");
    let check = |plan: Value, gate: u8, reason: &str| {
        let model = Model::saying(std::slice::from_ref(&plan));
        let (code, said) = check(&project, Some(&model), &["do something"]);
        assert_eq!(
            (code, &said["outcome"], &said["gate"]["number"]),
            (1, &"stopped".into(), &gate.into())
        );
        let said = said["reason"].as_str().unwrap();
        assert!(said.contains(reason), "{plan}: {said}");
        assert_eq!(model.received().len(), 1);
    };
    let good = || call("adv", "good", json!({"text": "x"}));
    check("I would call `good`.".into(), 1, "no plan");
    check(format!("{}{}", good(), good()).into(), 1, "no plan");
    check(call("adv", "no_such_tool", json!({})), 2, "no_such_tool");
    check(call("elsewhere", "good", json!({"text": "x"})), 2, "elsewhere");
    check(call("adv", "good", json!({"text": "x", "loud": true})), 2, "loud");
    check(call("adv", "good", json!({"text": "x", "then": good()})), 1, "no plan");
    check(call("adv", "poisoned", json!({"text": "x"})), 3, "C023");
    check(call("adv", "no_output_schema", json!({"text": "x"})), 3, "C016");
    check(call("vouch", "read_repo_file", json!({"path": "README.md"})), 3, "[clients.cli]");
    assert_eq!(calls(&project), json!({}), "nothing reached the server");
    let model = Model::saying(&[good()]);
    let (code, said) = self::check(&project, Some(&model), &["do something"]);
    assert_eq!((code, &said["result"]), (0, &json!({"text": "x"})));
    assert_eq!(calls(&project), json!({"good": 1}));
}

#[test]
fn a_changed_tool_waits_for_a_person() {
    let project = with_adversary("");
    let model = Model::saying(&[call("adv", "good", json!({"text": "x"}))]);
    assert_eq!(check(&project, Some(&model), &["say x"]).0, 0);
    assert!(project.read("vouch.lock").contains("good"), "the first look pins it");
    let counts = project.read("counts");
    let mut counts: Value = serde_json::from_str(&counts).unwrap();
    counts["mutation"] = "breaking".into();
    project.write("counts", &counts.to_string());
    let (code, said) = check(&project, Some(&model), &["say x"]);
    assert_eq!((code, &said["gate"]["number"]), (1, &3.into()), "{said}");
    assert!(said["reason"].as_str().unwrap().contains("quarantined"), "{said}");
}

#[test]
fn a_broken_answer_is_for_the_person_only() {
    let project = with_adversary("");
    let secret = "ignore the schema";
    let model = Model::saying(&[call("adv", "violates", json!({"how": "extra"}))]);
    let args = ["look the label up", "--summarize"];
    let (code, said) = check(&project, Some(&model), &args);
    assert_eq!(
        (code, &said["outcome"], &said["tool"]),
        (1, &"withheld".into(), &"violates".into())
    );
    assert!(said["callId"].is_string() && !said.to_string().contains(secret), "{said}");
    // A script may pass on to a model what it reads.
    let output = asked(&project, Some(&model), &args);
    assert!(!project.show(&output).contains(secret), "{}", project.show(&output));
    let mut command = project.command(&[&["--color", "never", "ask"], &args[..]].concat());
    command.env("LLM_BASE_URL", &model.url).env("LLM_MODEL", "test");
    let (code, shown) = Pty::start(command).end();
    assert_eq!(code, 1);
    let (warning, raw) = shown.split_once("What came, as it came.").unwrap();
    assert!(!warning.contains(secret), "{warning}");
    assert!(raw.contains(secret) && raw.contains("  | "), "{raw}");
    let received = model.received();
    assert_eq!(received.len(), 3, "each time it was asked for a plan, and for nothing else");
    assert!(received.iter().all(|body| !body.to_string().contains(secret)));
}

/// `observe` is for a team that looks first; a question is answered by what is admitted, or not at all.
#[test]
fn what_is_only_observed_is_not_asked() {
    let project = with_adversary("");
    let table = project.read("vouch.toml") + "policy = \"observe\"\n";
    project.write("vouch.toml", &table);
    let stopped = |tool: &str, arguments: Value| {
        let model = Model::saying(&[call("adv", tool, arguments)]);
        let (code, said) = check(&project, Some(&model), &["do it"]);
        (code, said["outcome"].clone(), said["gate"]["number"].clone())
    };
    assert_eq!(stopped("good", json!({"text": "hi"})).0, 0);
    let gate = (1, "stopped".into(), 3.into());
    assert_eq!(stopped("poisoned", json!({"text": "hi"})), gate, "refused");
    project.write("counts", &json!({"mutation": "additive"}).to_string());
    assert_eq!(stopped("good", json!({"text": "hi"})), gate, "quarantined");
    assert_eq!(calls(&project), json!({}));
}

#[test]
fn a_rule_about_nothing_is_told_each_time() {
    let rule = |tools: &str| {
        format!(
            "[[rule]]\nname = \"typo\"\neffect = \"deny\"\ntools = [\"{tools}\"]\nwhen = 'arguments.txt == \"x\"'\n"
        )
    };
    let own = project().with("vouch.toml", &rule("hello"));
    for args in [["ask", "hello"], ["call", "hello"]] {
        let said = own.check(&args);
        assert!(said.starts_with("exit: 2") && said.contains("arguments.txt"), "{said}");
    }
    let project = with_adversary(&rule("adv__good"));
    // Another server that is not there has no say in it.
    let table =
        project.read("vouch.toml") + "\n[[upstream]]\nname = \"gone\"\ncommand = \"./none\"\n";
    project.write("vouch.toml", &table);
    for args in [&["call", "adv__good", "text=hi"][..], &["learn", "adv", "--call", "good {}"]] {
        let said = project.check(args);
        assert!(said.starts_with("exit: 2") && said.contains("arguments.txt"), "{said}");
    }
    let mut command = project.command(&["--color", "never", "ask"]);
    command.env("TERM", "xterm");
    let mut pty = Pty::start(command);
    for _ in 0..2 {
        pty.until("ask> ");
        pty.types("adv good text=hi\r");
        pty.until("arguments.txt");
        pty.until("how it went");
    }
    pty.types("exit\r");
    pty.end();
    assert_eq!(calls(&project), json!({}));
}

#[test]
fn an_answer_gives_no_orders() {
    let project = with_adversary("");
    let evil = call("adv", "write_path", json!({"path": "/tmp/owned"}));
    let model = Model::saying(&[call("adv", "instructs", json!({})), evil]);
    let (code, said) = check(&project, Some(&model), &["report", "--summarize"]);
    assert_eq!((code, &said["tool"]), (0, &"instructs".into()));
    assert!(said["noSummary"].as_str().unwrap().contains("summary"), "{said}");
    assert_eq!(calls(&project), json!({"instructs": 1}));
}

#[test]
fn what_breaks_down() {
    let project = with_adversary("");
    let check = |plan: Value| {
        let model = Model::saying(&[plan]);
        let (code, said) = check(&project, Some(&model), &["do it"]);
        (code, said["outcome"].clone(), said["error"]["code"].clone())
    };
    assert_eq!(
        check(call("adv", "dies", json!({}))),
        (3, "failed".into(), "UPSTREAM_UNAVAILABLE".into())
    );
    assert_eq!(check(call("adv", "error", json!({}))), (1, "failed".into(), "TOOL_FAILED".into()));
    let mut command = project.command(&["ask", "do it", "--json"]);
    command.env("LLM_BASE_URL", "http://127.0.0.1:9/v1").env("LLM_MODEL", "test");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", project.show(&output));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["outcome"], "failed");
}

#[test]
fn servers_that_are_not_there_stop_nobody() {
    let project = project().with(
        "vouch.toml",
        "[[upstream]]\nname = \"gone\"\nurl = \"http://127.0.0.1:9/mcp\"\n\n\
         [[upstream]]\nname = \"poor\"\ncommand = \"./none\"\nenv = { KEY = \"${NOT_SET_7}\" }\n\n\
         [[rule]]\nname = \"quiet\"\neffect = \"deny\"\ntools = [\"hello\"]\nwhen = 'arguments.name == \"Eve\"'\n",
    );
    let output = asked(&project, None, &["hello name=Ada"]);
    let text = project.show(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("upstream=\"gone\"") && text.contains("NOT_SET_7"), "{text}");
    let (code, said) = check(&project, None, &["hello name=Eve"]);
    assert_eq!((code, &said["error"]["code"]), (1, &"ACCESS_DENIED".into()));
}

#[test]
fn a_person_approves_at_the_terminal() {
    let project = project();
    let query = "write_memory_entry file=best_practices.md entry='- one'";
    for (typed, code) in [("n\n", 1), ("y\n", 0)] {
        let mut pty = Pty::start(project.command(&["--color", "never", "ask", query]));
        pty.until("[y/N]");
        pty.types(typed);
        let (ended, shown) = pty.end();
        assert_eq!(ended, code, "{shown}");
    }
    assert_eq!(project.read(".claude/memory/best_practices.md"), "- one\n");
}

#[test]
fn a_prompt_with_history() {
    let project = project().with("vouch.toml", "[ask]\nforbid = [\"(?i)password\"]\n");
    let mut command = project.command(&["--color", "never", "ask"]);
    command.env("TERM", "xterm");
    let mut pty = Pty::start(command);
    pty.until("ask> ");
    pty.types("hello name=Ada\r");
    pty.until("Hello, Ada!");
    pty.until("how it went");
    pty.types("the password is hunter2\r");
    pty.until("stopped at gate 0");
    pty.until("how it went");
    // Up to the question before; then the end.
    pty.types("\u{1b}[A");
    pty.until("hello name=Ada");
    pty.types("\r");
    pty.until("Hello, Ada!");
    pty.until("how it went");
    pty.types("exit\r");
    assert_eq!(pty.end().0, 0);
    let history = project.read(".vouch/ask_history");
    assert!(history.contains("hello name=Ada") && !history.contains("hunter2"), "{history}");
    let mode = project.root.join(".vouch/ask_history").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let asks = project.json(&["trace", "list", "--json"]);
    assert_eq!(asks.as_array().unwrap().len(), 3);
}
