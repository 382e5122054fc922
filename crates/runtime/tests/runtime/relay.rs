//! Questions of upstream servers, passed on to the person in both eras of the protocol.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use contract::{CallContext, Caller, Code, Constraints, Output, Progress};
use runtime::{
    Abilities, Answers, Ask, Call, Catalog, Inquiry, Invoker, MAX_CARRIED_BYTES, Origin, Person,
    PipelineOptions, Question, QuestionKind, Refusal, Reply, Rounds, Stop,
};
use serde_json::{Value, json};
use store::Decision;

use crate::http::Server;
use crate::rig::{AsyncScript, Rig, Upstream, call, code, show, upstreams};
use crate::stdio::Session;

fn form() -> Value {
    // What no type of ours knows must come through.
    json!({
        "message": "Which one?",
        "requestedSchema": {
            "type": "object",
            "properties": {"name": {"type": "string", "x-hint": 1, "pattern": "^a"}},
            "x-order": ["name"],
        },
        "mode": "form",
        "x-extra": [1.10, 2],
    })
}

fn question(key: &str) -> Question {
    Question { key: key.into(), kind: QuestionKind::Elicitation(form()) }
}

/// An upstream server of the revision with rounds: it asks twice under the same key, and keeps its own state.
#[derive(Default)]
struct Stateful {
    begun: AtomicUsize,
}

#[async_trait]
impl AsyncScript for Arc<Stateful> {
    async fn run(&self, _: Value, inquiry: &Inquiry) -> Result<Output, Stop> {
        let mut state = match inquiry.carried() {
            Some(state) => state.clone(),
            None => {
                self.begun.fetch_add(1, Ordering::SeqCst);
                json!({"step": 0, "heard": []})
            }
        };
        let mut answers = inquiry.answers();
        loop {
            for answer in answers.values() {
                state["heard"].as_array_mut().unwrap().push(answer["content"]["name"].clone());
            }
            let step = state["step"].as_u64().unwrap();
            if step == 2 {
                return Ok(Output::structured(json!({"text": state["heard"].to_string()})));
            }
            state["step"] = json!(step + 1);
            answers = inquiry.ask_carrying(vec![question("approval")], state.clone()).await?;
        }
    }
}

fn stateful(constraints: Constraints) -> (Arc<Stateful>, Catalog) {
    let server = Arc::<Stateful>::default();
    let invoker = Arc::new(Upstream(Arc::clone(&server)));
    (server, upstreams([("wizard", constraints, invoker)]))
}

fn wizard() -> Call {
    call("wizard", json!({"text": ""}))
}

fn everything() -> Abilities {
    Abilities { elicitation: true, sampling: true, ..Abilities::default() }
}

fn round(answers: Value, state: Option<&str>) -> Call {
    let mut call = wizard();
    let answers: Answers = serde_json::from_value(answers).unwrap();
    call.person = Person::Rounds(Rounds {
        abilities: everything(),
        answers,
        state: state.map(str::to_owned),
    });
    call
}

fn named(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

fn suspended(reply: Reply) -> (Vec<Question>, String) {
    match reply {
        Reply::InputRequired { questions, state } => (questions, state),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn in_rounds_the_call_goes_on_where_it_stopped() {
    let (server, catalog) = stateful(Constraints::default());
    let rig = Rig::over(catalog, PipelineOptions::default()).await;
    // An answer that nobody has asked for yet counts for nothing.
    let early = json!({"upstream/approval": named("early"), "approval": named("early")});
    let (questions, first) = suspended(rig.pipeline.call(round(early, None)).await);
    assert_eq!(questions[0].key, "upstream/approval");
    assert_eq!(questions[0].kind, QuestionKind::Elicitation(form()));

    let answers = json!({"upstream/approval": named("one"), "other": named("luggage")});
    let (_, second) = suspended(rig.pipeline.call(round(answers, Some(&first))).await);
    let answers = json!({"upstream/approval": named("two")});
    let reply = rig.pipeline.call(round(answers.clone(), Some(&second))).await;
    assert_eq!(show(&reply), json!({"structured": {"text": r#"["one","two"]"#}}));
    assert_eq!(server.begun.load(Ordering::SeqCst), 1, "and was begun once");

    // Neither a state that was used, nor one that was altered, nor one of another call.
    let refused = |reply: Reply| matches!(reply, Reply::Refused(Refusal::BadState(_)));
    assert!(refused(rig.pipeline.call(round(answers.clone(), Some(&first))).await));
    let (_, state) = suspended(rig.pipeline.call(round(json!({}), None)).await);
    let forged = format!("{state}x");
    assert!(refused(rig.pipeline.call(round(answers.clone(), Some(&forged))).await));
    let mut foreign = round(answers.clone(), Some(&state));
    foreign.caller = Caller::new("somebody else");
    assert!(refused(rig.pipeline.call(foreign).await));
    let mut other = round(answers, Some(&state));
    other.arguments.insert("times".into(), json!(2));
    assert!(refused(rig.pipeline.call(other).await));
}

#[tokio::test]
async fn in_rounds_who_does_not_answer_is_asked_again_by_the_one_who_asks() {
    let (_, catalog) = stateful(Constraints::default());
    let rig = Rig::over(catalog, PipelineOptions::default()).await;
    let (_, state) = suspended(rig.pipeline.call(round(json!({}), None)).await);
    let (_, state) = suspended(rig.pipeline.call(round(json!({}), Some(&state))).await);
    let no_object = json!({"upstream/approval": 7});
    let reply = rig.pipeline.call(round(no_object, Some(&state))).await;
    assert_eq!(show(&reply), json!({"structured": {"text": "[]"}}));
}

/// One approval is for the whole call, in as many rounds as it takes.
#[tokio::test]
async fn in_rounds_a_person_approves_once() {
    let asking = Constraints { approval: true, ..Constraints::default() };
    let approved = json!({"action": "accept", "content": {"approve": true}});
    let (_, catalog) = stateful(asking.clone());
    let rig = Rig::over(catalog, PipelineOptions::default()).await;
    let (questions, state) = suspended(rig.pipeline.call(round(json!({}), None)).await);
    assert_eq!(questions[0].key, "approval");
    let answers = json!({"approval": approved});
    let (questions, state) = suspended(rig.pipeline.call(round(answers, Some(&state))).await);
    assert_eq!(questions[0].key, "upstream/approval", "which cannot be taken for the approval");
    let answers = json!({"upstream/approval": named("one"), "approval": named("not about this")});
    let (_, state) = suspended(rig.pipeline.call(round(answers, Some(&state))).await);
    let answers = json!({"upstream/approval": named("two")});
    let reply = rig.pipeline.call(round(answers, Some(&state))).await;
    assert_eq!(show(&reply), json!({"structured": {"text": r#"["one","two"]"#}}));

    // By the queue, where the client has no forms: the approval is used up by the first round.
    let sampling = Arc::new(Upstream(Samples));
    let catalog = upstreams([("wizard", asking, sampling)]);
    let rig = Rig::over(catalog, PipelineOptions::default()).await;
    let round = |answers: Value, state: Option<&str>| {
        let mut call = round(answers, state);
        if let Person::Rounds(rounds) = &mut call.person {
            rounds.abilities = Abilities { sampling: true, ..Abilities::default() };
        }
        call
    };
    assert_eq!(code(&rig.pipeline.call(round(json!({}), None)).await), Code::ApprovalRequired);
    let id = rig.store.approvals(None).await.unwrap()[0].id.clone();
    rig.store.decide(&id, Decision::Approve, "ann").await.unwrap();
    let (_, state) = suspended(rig.pipeline.call(round(json!({}), None)).await);
    let answers = json!({"upstream/s": {"model": "m"}});
    let reply = rig.pipeline.call(round(answers, Some(&state))).await;
    assert_eq!(show(&reply), json!({"structured": {"text": "m"}}));
    assert_eq!(code(&rig.pipeline.call(round(json!({}), None)).await), Code::ApprovalRequired);
}

struct Samples;

#[async_trait]
impl AsyncScript for Samples {
    async fn run(&self, _: Value, inquiry: &Inquiry) -> Result<Output, Stop> {
        if inquiry.carried().is_none() {
            let kind = QuestionKind::Sampling(json!({"messages": [], "maxTokens": 1}));
            inquiry.ask_carrying(vec![Question { key: "s".into(), kind }], json!(1)).await?;
        }
        Ok(Output::structured(json!({"text": inquiry.answers()["s"]["model"]})))
    }
}

#[tokio::test]
async fn what_is_carried_is_bounded() {
    struct Hoarder;
    #[async_trait]
    impl AsyncScript for Hoarder {
        async fn run(&self, _: Value, inquiry: &Inquiry) -> Result<Output, Stop> {
            let carry = json!("x".repeat(MAX_CARRIED_BYTES));
            inquiry.ask_carrying(vec![question("q")], carry).await?;
            unreachable!("it is too much")
        }
    }
    let catalog = upstreams([("wizard", Constraints::default(), Arc::new(Upstream(Hoarder)))]);
    let rig = Rig::over(catalog, PipelineOptions::default()).await;
    assert_eq!(code(&rig.pipeline.call(round(json!({}), None)).await), Code::TooLarge);
}

#[tokio::test]
async fn who_cannot_be_asked_is_not_asked() {
    let (_, catalog) = stateful(Constraints::default());
    let rig = Rig::over(catalog, PipelineOptions::default()).await;
    let mut call = round(json!({}), None);
    call.person = Person::Rounds(Rounds::default());
    for call in [call, wizard()] {
        let reply = rig.pipeline.call(call).await;
        assert!(
            matches!(reply, Reply::Refused(Refusal::MissingAbility("elicitation"))),
            "{reply:?}"
        );
    }
}

/// Answers every question with a name, and remembers what it was asked.
#[derive(Default)]
struct Obliging {
    asked: Mutex<Vec<QuestionKind>>,
}

#[async_trait]
impl Ask for Obliging {
    async fn ask(&self, question: &Question) -> Result<Value, String> {
        let mut asked = self.asked.lock().unwrap();
        asked.push(question.kind.clone());
        Ok(named(&asked.len().to_string()))
    }
}

fn connected(abilities: Abilities) -> (Arc<Obliging>, Call) {
    let person = Arc::<Obliging>::default();
    let mut call = wizard();
    call.person = Person::Connected { abilities, ask: Arc::clone(&person) as Arc<dyn Ask> };
    (person, call)
}

#[tokio::test]
async fn over_the_connection_the_call_waits_for_every_answer() {
    let (server, catalog) = stateful(Constraints::default());
    let rig = Rig::over(catalog, PipelineOptions::default()).await;
    let (person, call) = connected(everything());
    assert_eq!(
        show(&rig.pipeline.call(call).await),
        json!({"structured": {"text": r#"["1","2"]"#}})
    );
    assert_eq!(*person.asked.lock().unwrap(), [(); 2].map(|()| QuestionKind::Elicitation(form())));
    assert_eq!(server.begun.load(Ordering::SeqCst), 1);
}

/// An upstream server of the handshake revisions, which asks in the middle of its call and keeps a way to ask.
#[derive(Default)]
struct Interrupts {
    kept: Mutex<Option<Inquiry>>,
    questions: Mutex<Vec<(&'static str, Value)>>,
}

#[async_trait]
impl AsyncScript for Arc<Interrupts> {
    async fn run(&self, _: Value, inquiry: &Inquiry) -> Result<Output, Stop> {
        *self.kept.lock().unwrap() = Some(inquiry.clone());
        let questions = self.questions.lock().unwrap().clone();
        let mut log = Vec::new();
        for (method, params) in questions {
            // From elsewhere, as a connection would.
            let inquiry = inquiry.clone();
            let asked = tokio::spawn(async move { inquiry.relay(method, params).await });
            log.push(match asked.await.unwrap() {
                Ok(answer) => answer.to_string(),
                Err(reason) => reason,
            });
        }
        Ok(Output::structured(json!({"text": log.join("\n")})))
    }
}

async fn interrupted(
    questions: Vec<(&'static str, Value)>,
    call: Call,
) -> (Arc<Interrupts>, String) {
    let server = Arc::<Interrupts>::default();
    *server.questions.lock().unwrap() = questions;
    let invoker = Arc::new(Upstream(Arc::clone(&server)));
    let catalog = upstreams([("wizard", Constraints::default(), invoker)]);
    let rig = Rig::over(catalog, PipelineOptions::default()).await;
    let reply = show(&rig.pipeline.call(call).await);
    (server, reply["structured"]["text"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned())
}

fn questions() -> Vec<(&'static str, Value)> {
    let page =
        json!({"mode": "url", "message": "m", "url": "https://example.com", "elicitationId": "e"});
    vec![
        ("elicitation/create", form()),
        ("elicitation/create", page),
        ("sampling/createMessage", json!({"messages": [], "maxTokens": 1})),
        ("roots/list", json!({})),
        ("ping", json!({})),
        ("elicitation/create", json!({"message": "x".repeat(300_000)})),
    ]
}

#[tokio::test]
async fn a_question_in_the_middle_of_a_call_reaches_a_connected_person() {
    let (person, call) = connected(everything());
    let (server, log) = interrupted(questions(), call).await;
    insta::assert_snapshot!(log);
    let asked = person.asked.lock().unwrap().clone();
    assert_eq!(asked[0], QuestionKind::Elicitation(form()));
    assert_eq!(asked.len(), 2, "{asked:?}");
    // The call is over, so nobody is asked for it any more.
    let kept = server.kept.lock().unwrap().clone().unwrap();
    assert_eq!(kept.relay("elicitation/create", form()).await.unwrap_err(), "the call is over");
    // A page only for who has declared that it can show one.
    let (_, call) = connected(Abilities { elicitation_url: true, ..Abilities::default() });
    let (_, log) = interrupted(questions(), call).await;
    assert_eq!(log.lines().nth(1).unwrap(), named("1").to_string());
}

#[tokio::test]
async fn a_question_in_the_middle_of_a_call_is_declined_for_others() {
    for call in [round(json!({}), None), wizard()] {
        let (_, log) = interrupted(questions(), call).await;
        assert!(log.starts_with("{\"action\":\"decline\"}\n{\"action\":\"decline\"}\n"), "{log}");
        assert!(log.contains("\nthe client cannot be asked for sampling\n"), "{log}");
    }
}

#[tokio::test]
async fn a_call_does_not_besiege_the_person() {
    let (person, call) = connected(everything());
    let (_, log) = interrupted(vec![("elicitation/create", form()); 100], call).await;
    assert_eq!(person.asked.lock().unwrap().len(), 64);
    assert!(log.ends_with("one call asks at most 64 questions"), "{log}");
}

#[tokio::test]
async fn over_every_door_a_question_is_as_it_was_put() {
    let rig = async || {
        let (_, catalog) = stateful(Constraints::default());
        Rig::over(catalog, PipelineOptions::default()).await
    };
    let answer = json!({"action": "accept", "content": {"name": "a"}});
    let params = json!({"name": "wizard", "arguments": {"text": ""}});

    let mut session = Session::on(rig().await);
    session.shake_hands(json!({"elicitation": {}})).await;
    session
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        .await;
    for _ in 0..2 {
        let mut asked = session.receive().await.unwrap();
        assert_eq!(asked["method"], "elicitation/create");
        // The SDK's own mark, by which it would know progress.
        asked["params"].as_object_mut().unwrap().shift_remove("_meta");
        assert_eq!(asked["params"].to_string(), form().to_string());
        session.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer})).await;
    }
    let reply = session.receive().await.unwrap();
    assert_eq!(reply["result"]["structuredContent"]["text"], r#"["a","a"]"#, "{reply}");

    let server = Server::on(rig().await, |_| {}).await;
    let able = json!({"elicitation": {}});
    let mut params = params;
    for _ in 0..2 {
        let reply =
            server.rpc_able("tools/call", params.clone(), able.clone()).send().await.unwrap();
        let reply: Value = reply.json().await.unwrap();
        let result = &reply["result"];
        assert_eq!(result["resultType"], "input_required", "{reply}");
        let asked = json!({"method": "elicitation/create", "params": form()});
        assert_eq!(result["inputRequests"]["upstream/approval"].to_string(), asked.to_string());
        params["requestState"] = result["requestState"].clone();
        params["inputResponses"] = json!({"upstream/approval": answer});
    }
    let reply = server.rpc_able("tools/call", params, able).send().await.unwrap();
    let reply: Value = reply.json().await.unwrap();
    assert_eq!(reply["result"]["structuredContent"]["text"], r#"["a","a"]"#, "{reply}");
    // Who has not declared that it can be asked is told what is missing.
    let reply = server.rpc("tools/call", json!({"name": "wizard", "arguments": {"text": ""}}));
    let reply: Value = reply.send().await.unwrap().json().await.unwrap();
    assert_eq!(reply["error"]["code"], -32021, "{reply}");
}

/// Asks from a task of its own, as a reader of a connection does; with a limit it does not wait for ever.
struct Aside(Option<Duration>);

#[async_trait]
impl AsyncScript for Aside {
    async fn run(&self, _: Value, inquiry: &Inquiry) -> Result<Output, Stop> {
        let (inquiry, limit) = (inquiry.clone(), self.0.unwrap_or(Duration::from_secs(60)));
        let asking = tokio::spawn(async move {
            let asked = inquiry.ask_carrying(vec![question("q")], Value::Null);
            tokio::time::timeout(limit, asked).await
        });
        let text = match asking.await.unwrap() {
            Ok(answers) => answers?["q"]["content"]["name"].to_string(),
            Err(_) => "withdrawn".to_owned(),
        };
        Ok(Output::structured(json!({"text": text})))
    }
}

fn aside(limit: Option<Duration>) -> Catalog {
    upstreams([("aside", Constraints::default(), Arc::new(Upstream(Aside(limit))))])
}

fn call_aside() -> Value {
    let params = json!({"name": "aside", "arguments": {"text": ""}});
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
}

/// The next message of an event stream.
async fn next(reply: &mut reqwest::Response, text: &mut String) -> Value {
    loop {
        if let Some((event, rest)) = text.split_once("\n\n") {
            let data = event.lines().find_map(|line| line.strip_prefix("data: "));
            let message = data.and_then(|data| serde_json::from_str(data).ok());
            *text = rest.to_owned();
            match message {
                Some(message) => return message,
                None => continue,
            }
        }
        let chunk = reply.chunk().await.unwrap().unwrap_or_else(|| panic!("it ended: {text}"));
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}

/// A client need not have any other stream open.
#[tokio::test]
async fn over_http_a_question_comes_on_the_stream_of_its_call() {
    let rig = Rig::over(aside(None), PipelineOptions::default()).await;
    let server = Server::on(rig, |_| {}).await;
    let http = server.shake_hands_able(json!({"elicitation": {}})).await;
    let post = |body: Value| http.of(server.post("/mcp")).body(body.to_string()).send();
    let (mut reply, mut text) = (post(call_aside()).await.unwrap(), String::new());
    let asked = next(&mut reply, &mut text).await;
    assert_eq!(asked["method"], "elicitation/create");
    assert_eq!(asked["params"]["message"], form()["message"]);
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": named("anna")});
    assert_eq!(post(answer).await.unwrap().status(), 202);
    let done = next(&mut reply, &mut text).await;
    assert_eq!(done["result"]["structuredContent"], json!({"text": "\"anna\""}), "{done}");
}

#[tokio::test]
async fn a_question_that_is_withdrawn_is_taken_back() {
    let catalog = aside(Some(Duration::from_millis(20)));
    let mut session = Session::on(Rig::over(catalog, PipelineOptions::default()).await);
    session.shake_hands(json!({"elicitation": {}})).await;
    session.send(&call_aside()).await;
    let asked = session.receive().await.unwrap();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    // In whichever order: nobody waits for the one before the other.
    let mut told = [session.receive().await.unwrap(), session.receive().await.unwrap()];
    told.sort_by_key(|message| message.get("result").is_some());
    let [cancelled, done] = told;
    assert_eq!(cancelled["method"], "notifications/cancelled", "{cancelled}");
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    assert_eq!(done["result"]["structuredContent"], json!({"text": "withdrawn"}), "{done}");
}

/// Reports without end, and never answers.
struct Floods;

struct Quiet(Arc<AtomicBool>);

impl Drop for Quiet {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[async_trait]
impl Invoker for Floods {
    fn origin(&self) -> Origin {
        Origin::Upstream
    }

    async fn invoke(&self, _: Value, _: &Inquiry, ctx: &CallContext) -> Result<Output, Stop> {
        let quiet = Quiet(Arc::default());
        let (is_quiet, ctx) = (Arc::clone(&quiet.0), ctx.clone());
        std::thread::spawn(move || {
            while !is_quiet.load(Ordering::SeqCst) {
                ctx.report(Progress { done: 1.0, total: None, message: None });
            }
        });
        std::future::pending().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_reports_holds_no_limit_up() {
    let constraints = Constraints { timeout: Duration::from_millis(50), ..Constraints::default() };
    let catalog = upstreams([("floods", constraints, Arc::new(Floods))]);
    let mut session = Session::on(Rig::over(catalog, PipelineOptions::default()).await);
    session.shake_hands(json!({})).await;
    let params =
        json!({"name": "floods", "arguments": {"text": ""}, "_meta": {"progressToken": 1}});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    session.send(&call).await;
    let done = loop {
        let message = session.receive().await.unwrap();
        if message.get("method").is_none() {
            break message;
        }
    };
    let code = &done["result"]["structuredContent"]["error"]["code"];
    assert_eq!(code, "EXECUTION_TIMEOUT", "{done}");
}
