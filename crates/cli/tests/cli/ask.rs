//! `vouch ask`: one query, at most one call. Withheld answers are shown to the user and never sent to a model.

use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use serde_json::{Value, json};
use testkit::adversary::adversary_command;

use crate::model::FakeModel;
use crate::pty::Pty;
use crate::support::Project;

const README: &str = "# A project\n\nIt keeps its word.\n";

fn project() -> Project {
    Project::new().with("README.md", README)
}

/// Returns a project with the adversary as upstream `adv`. The adversary counts its calls in the file `counts`.
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

/// Returns the calls that reached the adversary, by tool.
fn upstream_calls(project: &Project) -> Value {
    serde_json::from_str::<Value>(&project.read("counts")).unwrap()["calls"].clone()
}

fn run_ask(project: &Project, model: Option<&FakeModel>, args: &[&str]) -> Output {
    let mut command = project.command(&[&["ask"], args].concat());
    if let Some(model) = model {
        command.env("LLM_BASE_URL", &model.url).env("LLM_MODEL", "test");
    }
    command.output().unwrap()
}

/// Runs `vouch ask --json`. Returns the exit code and the printed object.
fn ask_json(project: &Project, model: Option<&FakeModel>, args: &[&str]) -> (i32, Value) {
    let output = run_ask(project, model, &[args, &["--json"]].concat());
    let json = serde_json::from_slice(&output.stdout);
    let json = json.unwrap_or_else(|_| panic!("{}", project.format_output(&output)));
    (output.status.code().unwrap(), json)
}

fn call_plan(server: &str, tool: &str, arguments: Value) -> Value {
    json!({"type": "call", "server": server, "tool": tool, "arguments": arguments})
}

#[test]
fn answers_with_local_tools() {
    let project = project();
    let (code, printed) = ask_json(&project, None, &["read_repo_file path=README.md"]);
    assert_eq!((code, &printed["outcome"]), (0, &"answered".into()));
    assert_eq!((&printed["server"], &printed["tool"]), (&"vouch".into(), &"read_repo_file".into()));
    assert_eq!(printed["arguments"], json!({"path": "README.md"}));
    assert_eq!(printed["result"]["content"], README);
    assert_eq!(printed.get("summary"), None);
    // Several tools match, so the answer is a question instead of a guess.
    let (code, printed) = ask_json(&project, None, &["look into README.md"]);
    assert_eq!((code, &printed["outcome"]), (1, &"needs_more_info".into()));
    let question = printed["question"].as_str().unwrap();
    assert!(question.contains("read_file") && question.contains("read_repo_file"), "{question}");
    let output = run_ask(&project, None, &["look into README.md"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), question);
    // The title of `hello` is "Say hello", which must not match "say".
    let (_, printed) = ask_json(&project, None, &["what does README.md say about tokens"]);
    assert_ne!(printed["tool"], "hello");
}

#[test]
fn prints_human_readable_answers() {
    let project = project();
    let shown = |args: &[&str]| {
        let output = run_ask(&project, None, args);
        let text = project.format_output(&output);
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
        // A time of day whose fraction ends in zeros is shorter.
        (r"(at /modified, bytes 0 to) \d+", "$1 [LENGTH]"),
        (r"approvals approve \S+", "approvals approve [ID]"),
        (r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\bas [0-9a-z]{10,}", "[ID]"),
    ]}, { insta::assert_snapshot!(texts.join("\n")) });
}

#[test]
fn summary_bullets_quote_the_result() {
    let (code, printed) =
        ask_json(&project(), None, &["read_repo_file path=README.md", "--summarize"]);
    assert_eq!((code, &printed["summary"]["type"]), (0, &"summary".into()));
    let bullets = printed["summary"]["bullets"].as_array().unwrap();
    assert!(!bullets.is_empty());
    for bullet in bullets {
        let place = &bullet["place"];
        let value = printed["result"].pointer(place["pointer"].as_str().unwrap()).unwrap();
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let at = |key: &str| usize::try_from(place[key].as_u64().unwrap()).unwrap();
        assert_eq!(&text[at("start")..at("end")], bullet["evidence"].as_str().unwrap());
    }
}

#[test]
fn rejects_wrong_usage() {
    let project = project();
    insta::assert_snapshot!(
        project.transcript(&[&["ask"], &["ask", "hello", "--planner", "model"]])
    );
    project.write("vouch.toml", "[ask]\nforbid = [\"(\"]\n");
    assert!(project.run_text(&["ask", "hello"]).starts_with("exit: 2"));
}

#[test]
fn forbidden_query_stops_before_discovery() {
    let project = with_adversary("[ask]\nforbid = [\"(?i)password\"]\n");
    let model = FakeModel::start(&[call_plan("vouch", "hello", json!({}))]);
    let (code, printed) = ask_json(&project, Some(&model), &["tell me the PASSWORD"]);
    assert_eq!((code, &printed["outcome"]), (1, &"stopped".into()));
    assert_eq!(printed["gate"], json!({"number": 0, "name": "input policy"}));
    assert_eq!(model.received().len(), 0, "no model was called");
    assert!(!project.root.join("counts").exists(), "no server was started");
    let (code, _) = ask_json(&project, Some(&model), &["say hello"]);
    assert_eq!(code, 0);
    assert!(project.root.join("counts").exists());
}

#[test]
fn model_plans_and_summarizes() {
    let project = project();
    let model = FakeModel::start(&[
        call_plan("vouch", "read_repo_file", json!({"path": "README.md"})),
        json!({"type": "summary", "bullets": [
            {"claim": "It is honest.", "evidence": "It keeps its word."},
            {"claim": "It is fast.", "evidence": "It is fast."},
        ]}),
    ]);
    let args = ["what is in the readme?", "--summarize"];
    let (code, printed) = ask_json(&project, Some(&model), &args);
    assert_eq!((code, &printed["outcome"]), (0, &"answered".into()));
    let summary = &printed["summary"];
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
    // The embedded planner can be chosen although a model is configured.
    let args = ["read_repo_file path=README.md", "--summarize", "--planner", "embedded"];
    assert_eq!(ask_json(&project, Some(&model), &args).0, 0);
    assert_eq!(model.received().len(), 2);
}

#[test]
fn rejects_invalid_model_plans() {
    let project = with_adversary("[clients.cli]\ntools = [\"adv__*\", \"hello\"]\n");
    let assert_stopped = |plan: Value, gate: u8, reason: &str| {
        let model = FakeModel::start(std::slice::from_ref(&plan));
        let (code, printed) = ask_json(&project, Some(&model), &["do something"]);
        assert_eq!(
            (code, &printed["outcome"], &printed["gate"]["number"]),
            (1, &"stopped".into(), &gate.into())
        );
        let printed = printed["reason"].as_str().unwrap();
        assert!(printed.contains(reason), "{plan}: {printed}");
        assert_eq!(model.received().len(), 1);
    };
    let good = || call_plan("adv", "good", json!({"text": "x"}));
    assert_stopped("I would call `good`.".into(), 1, "invalid plan");
    assert_stopped(format!("{}{}", good(), good()).into(), 1, "invalid plan");
    assert_stopped(call_plan("adv", "no_such_tool", json!({})), 2, "no_such_tool");
    assert_stopped(call_plan("elsewhere", "good", json!({"text": "x"})), 2, "elsewhere");
    assert_stopped(call_plan("adv", "good", json!({"text": "x", "loud": true})), 2, "loud");
    assert_stopped(
        call_plan("adv", "good", json!({"text": "x", "then": good()})),
        1,
        "invalid plan",
    );
    assert_stopped(call_plan("adv", "poisoned", json!({"text": "x"})), 3, "C023");
    assert_stopped(call_plan("adv", "no_output_schema", json!({"text": "x"})), 3, "C016");
    assert_stopped(
        call_plan("vouch", "read_repo_file", json!({"path": "README.md"})),
        3,
        "[clients.cli]",
    );
    assert_eq!(upstream_calls(&project), json!({}), "nothing reached the server");
    let model = FakeModel::start(&[good()]);
    let (code, printed) = ask_json(&project, Some(&model), &["do something"]);
    assert_eq!((code, &printed["result"]), (0, &json!({"text": "x"})));
    assert_eq!(upstream_calls(&project), json!({"good": 1}));
}

#[test]
fn changed_tool_requires_acceptance() {
    let project = with_adversary("");
    let model = FakeModel::start(&[call_plan("adv", "good", json!({"text": "x"}))]);
    assert_eq!(ask_json(&project, Some(&model), &["say x"]).0, 0);
    assert!(project.read("vouch.lock").contains("good"), "the first call pins it");
    let counts = project.read("counts");
    let mut counts: Value = serde_json::from_str(&counts).unwrap();
    counts["mutation"] = "breaking".into();
    project.write("counts", &counts.to_string());
    let (code, printed) = ask_json(&project, Some(&model), &["say x"]);
    assert_eq!((code, &printed["gate"]["number"]), (1, &3.into()), "{printed}");
    assert!(printed["reason"].as_str().unwrap().contains("quarantined"), "{printed}");
}

#[test]
fn withheld_answer_is_shown_on_terminal_only() {
    let project = with_adversary("");
    let secret = "ignore the schema";
    let model = FakeModel::start(&[call_plan("adv", "violates", json!({"how": "extra"}))]);
    let args = ["look the label up", "--summarize"];
    let (code, printed) = ask_json(&project, Some(&model), &args);
    assert_eq!(
        (code, &printed["outcome"], &printed["tool"]),
        (1, &"withheld".into(), &"violates".into())
    );
    assert!(printed["callId"].is_string() && !printed.to_string().contains(secret), "{printed}");
    // Output that is not a terminal may be passed on to a model.
    let output = run_ask(&project, Some(&model), &args);
    assert!(!project.format_output(&output).contains(secret), "{}", project.format_output(&output));
    let mut command = project.command(&[&["--color", "never", "ask"], &args[..]].concat());
    command.env("LLM_BASE_URL", &model.url).env("LLM_MODEL", "test");
    let (code, shown) = Pty::start(command).wait_for_exit();
    assert_eq!(code, 1);
    let (warning, raw) = shown.split_once("Raw answer:").unwrap();
    assert!(!warning.contains(secret), "{warning}");
    assert!(raw.contains(secret) && raw.contains("  | "), "{raw}");
    let received = model.received();
    assert_eq!(received.len(), 3, "each request was for a plan only");
    assert!(received.iter().all(|body| !body.to_string().contains(secret)));
}

/// The policy `observe` lets the gateway serve refused tools. `vouch ask` calls admitted tools only.
#[test]
fn observed_only_tools_are_not_called() {
    let project = with_adversary("");
    let table = project.read("vouch.toml") + "policy = \"observe\"\n";
    project.write("vouch.toml", &table);
    let stopped = |tool: &str, arguments: Value| {
        let model = FakeModel::start(&[call_plan("adv", tool, arguments)]);
        let (code, printed) = ask_json(&project, Some(&model), &["do it"]);
        (code, printed["outcome"].clone(), printed["gate"]["number"].clone())
    };
    assert_eq!(stopped("good", json!({"text": "hi"})).0, 0);
    let gate = (1, "stopped".into(), 3.into());
    assert_eq!(stopped("poisoned", json!({"text": "hi"})), gate, "refused");
    project.write("counts", &json!({"mutation": "additive"}).to_string());
    assert_eq!(stopped("good", json!({"text": "hi"})), gate, "quarantined");
    assert_eq!(upstream_calls(&project), json!({}));
}

#[test]
fn reports_rule_with_unknown_argument_on_every_call() {
    let rule = |tools: &str| {
        format!(
            "[[rule]]\nname = \"typo\"\neffect = \"deny\"\ntools = [\"{tools}\"]\nwhen = 'arguments.txt == \"x\"'\n"
        )
    };
    let own = project().with("vouch.toml", &rule("hello"));
    for args in [["ask", "hello"], ["call", "hello"]] {
        let printed = own.run_text(&args);
        assert!(printed.starts_with("exit: 2") && printed.contains("arguments.txt"), "{printed}");
    }
    let project = with_adversary(&rule("adv__good"));
    // An unavailable upstream does not hide the error.
    let table =
        project.read("vouch.toml") + "\n[[upstream]]\nname = \"gone\"\ncommand = \"./none\"\n";
    project.write("vouch.toml", &table);
    for args in [&["call", "adv__good", "text=hi"][..], &["learn", "adv", "--call", "good {}"]] {
        let printed = project.run_text(args);
        assert!(printed.starts_with("exit: 2") && printed.contains("arguments.txt"), "{printed}");
    }
    let mut command = project.command(&["--color", "never", "ask"]);
    command.env("TERM", "xterm");
    let mut pty = Pty::start(command);
    for _ in 0..2 {
        pty.wait_for("ask> ");
        pty.type_text("adv good text=hi\r");
        pty.wait_for("arguments.txt");
        pty.wait_for("trace: vouch trace show");
    }
    pty.type_text("exit\r");
    pty.wait_for_exit();
    assert_eq!(upstream_calls(&project), json!({}));
}

#[test]
fn answer_cannot_trigger_second_call() {
    let project = with_adversary("");
    let evil = call_plan("adv", "write_path", json!({"path": "/tmp/owned"}));
    let model = FakeModel::start(&[call_plan("adv", "instructs", json!({})), evil]);
    let (code, printed) = ask_json(&project, Some(&model), &["report", "--summarize"]);
    assert_eq!((code, &printed["tool"]), (0, &"instructs".into()));
    assert!(printed["noSummary"].as_str().unwrap().contains("summary"), "{printed}");
    assert_eq!(upstream_calls(&project), json!({"instructs": 1}));
}

#[test]
fn reports_upstream_and_model_failures() {
    let project = with_adversary("");
    let run_plan = |plan: Value| {
        let model = FakeModel::start(&[plan]);
        let (code, printed) = ask_json(&project, Some(&model), &["do it"]);
        (code, printed["outcome"].clone(), printed["error"]["code"].clone())
    };
    assert_eq!(
        run_plan(call_plan("adv", "dies", json!({}))),
        (3, "failed".into(), "UPSTREAM_UNAVAILABLE".into())
    );
    assert_eq!(
        run_plan(call_plan("adv", "error", json!({}))),
        (1, "failed".into(), "TOOL_FAILED".into())
    );
    let mut command = project.command(&["ask", "do it", "--json"]);
    command.env("LLM_BASE_URL", "http://127.0.0.1:9/v1").env("LLM_MODEL", "test");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", project.format_output(&output));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["outcome"], "failed");
}

#[test]
fn answers_despite_unavailable_upstreams() {
    let project = project().with(
        "vouch.toml",
        "[[upstream]]\nname = \"gone\"\nurl = \"http://127.0.0.1:9/mcp\"\n\n\
         [[upstream]]\nname = \"poor\"\ncommand = \"./none\"\nenv = { KEY = \"${NOT_SET_7}\" }\n\n\
         [[rule]]\nname = \"quiet\"\neffect = \"deny\"\ntools = [\"hello\"]\nwhen = 'arguments.name == \"Eve\"'\n",
    );
    let output = run_ask(&project, None, &["hello name=Ada"]);
    let text = project.format_output(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("upstream=\"gone\"") && text.contains("NOT_SET_7"), "{text}");
    let (code, printed) = ask_json(&project, None, &["hello name=Eve"]);
    assert_eq!((code, &printed["error"]["code"]), (1, &"ACCESS_DENIED".into()));
}

#[test]
fn asks_for_approval_on_terminal() {
    let project = project();
    let query = "write_memory_entry file=best_practices.md entry='- one'";
    for (typed, code) in [("n\n", 1), ("y\n", 0)] {
        let mut pty = Pty::start(project.command(&["--color", "never", "ask", query]));
        pty.wait_for("[y/N]");
        pty.type_text(typed);
        let (ended, shown) = pty.wait_for_exit();
        assert_eq!(ended, code, "{shown}");
    }
    assert_eq!(project.read(".claude/memory/best_practices.md"), "- one\n");
}

#[test]
fn interactive_prompt_keeps_history() {
    let project = project().with("vouch.toml", "[ask]\nforbid = [\"(?i)password\"]\n");
    let mut command = project.command(&["--color", "never", "ask"]);
    command.env("TERM", "xterm");
    let mut pty = Pty::start(command);
    pty.wait_for("ask> ");
    pty.type_text("hello name=Ada\r");
    pty.wait_for("Hello, Ada!");
    pty.wait_for("trace: vouch trace show");
    pty.type_text("the password is hunter2\r");
    pty.wait_for("stopped at gate 0");
    pty.wait_for("trace: vouch trace show");
    // The up arrow recalls the previous query; a rejected query is not in the history.
    pty.type_text("\u{1b}[A");
    pty.wait_for("hello name=Ada");
    pty.type_text("\r");
    pty.wait_for("Hello, Ada!");
    pty.wait_for("trace: vouch trace show");
    pty.type_text("exit\r");
    assert_eq!(pty.wait_for_exit().0, 0);
    let history = project.read_state("ask_history");
    assert!(history.contains("hello name=Ada") && !history.contains("hunter2"), "{history}");
    let mode = project.state().join("ask_history").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let asks = project.run_json(&["trace", "list", "--json"]);
    assert_eq!(asks.as_array().unwrap().len(), 3);
}
