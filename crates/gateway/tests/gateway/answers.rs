//! What each answer of a server becomes for the caller, over every kind of upstream.

use std::fmt::Write;

use contract::Code;
use insta::assert_snapshot;
use runtime::Reply;
use serde_json::{Value, json};

use crate::client::Client;
use crate::rig::{KINDS, Kind, Rig, Setup, show};

/// Texts of answers that break their contract; none may ever be in a reply.
pub(crate) const MARKERS: [&str; 5] =
    ["seven", "ignore the schema", "just words", "meant for another call", "the second answer"];

/// In this order: what breaks the connection would show in what follows.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("good", json!({"text": "a \"b\" \u{e9} \u{1f600} \u{0} \n"})),
        ("good", json!({})),
        ("good", json!({"text": 7})),
        ("good", json!({"text": "a", "more": 1})),
        ("good_many", json!({"count": 2})),
        ("violates", json!({"how": "wrong_type"})),
        ("violates", json!({"how": "missing"})),
        ("violates", json!({"how": "extra"})),
        ("violates", json!({"how": "null"})),
        ("violates", json!({"how": "twice"})),
        ("violates", json!({"how": "other"})),
        ("text_only", json!({})),
        ("twice", json!({})),
        ("foreign", json!({})),
        ("error", json!({})),
        ("rpc_error", json!({})),
        ("instructs", json!({})),
        ("garbage", json!({})),
        ("floods", json!({"bytes": 1_000_000})),
        ("deep", json!({"levels": 3})),
        ("deep", json!({"levels": 100})),
        ("deep", json!({"levels": 100_000})),
        ("huge", json!({"bytes": 10})),
        ("huge", json!({"bytes": 5_000_000})),
        ("huge", json!({})),
        ("numbers", json!({})),
        ("numbers_beyond", json!({})),
        // What was refused is not there, and neither is what never was.
        ("vacuous", json!({})),
        ("no_output_schema", json!({"text": "a"})),
        ("poisoned", json!({"text": "a"})),
        ("unheard_of", json!({})),
        ("good", json!({"text": "still well"})),
    ]
}

async fn outcomes(rig: &Rig) -> String {
    let mut table = String::new();
    for (tool, arguments) in calls() {
        let reply = rig.call(&format!("up__{tool}"), arguments.clone()).await;
        for marker in MARKERS {
            let whole = format!("{reply:?}");
            let is_own = matches!(&reply, Reply::Done(_)) && tool == "violates";
            assert!(is_own || !whole.contains(marker), "{tool} {arguments}: {whole}");
        }
        let told = match &reply {
            // How much had come by then differs from wire to wire.
            Reply::Failed(error) if error.code == Code::TooLarge => {
                format!("{} over {}", error.code, error.details["limit"])
            }
            reply => show(reply),
        };
        writeln!(table, "{tool} {arguments}\n  {told}").unwrap();
    }
    table
}

async fn over(kind: Kind) -> (Rig, String) {
    let rig = Setup::new().of(kind, "up", &[]).await.start().await;
    let table = outcomes(&rig).await;
    (rig, table)
}

#[tokio::test]
async fn no_broken_answer_is_data_over_any_kind_of_upstream() {
    let mut tables = Vec::new();
    for kind in KINDS {
        let (rig, table) = over(kind).await;
        for tool in ["vacuous", "no_output_schema", "poisoned", "hidden_text", "no_description"] {
            assert_eq!(rig.site.ran("up", tool), 0, "{kind}: {tool} ran");
        }
        // The two of them that broke the input schema never left.
        assert_eq!(rig.site.ran("up", "good"), 2, "{kind}");
        tables.push((kind, table));
        rig.close().await;
    }
    let first = tables[0].1.clone();
    assert_snapshot!(first);
    for (kind, table) in &tables[1..] {
        similar(&first, table, *kind);
    }
}

/// Line by line, so that a difference is readable.
fn similar(first: &str, table: &str, kind: Kind) {
    for (one, other) in first.lines().zip(table.lines()) {
        assert_eq!(one, other, "{kind}");
    }
    assert_eq!(first.lines().count(), table.lines().count());
}

/// What people are for: the raw answer is kept for them, under the id that the caller is told.
#[tokio::test]
async fn a_broken_answer_is_kept_for_people_and_not_told() {
    let rig = Setup::new().child("up", &[]).start().await;
    let mut kept = String::new();
    for (tool, arguments) in [
        ("violates", json!({"how": "extra"})),
        ("violates", json!({"how": "null"})),
        ("text_only", json!({})),
        ("deep", json!({"levels": 70})),
        ("numbers_beyond", json!({})),
    ] {
        let reply = rig.call(&format!("up__{tool}"), arguments.clone()).await;
        let Reply::Failed(error) = &reply else { panic!("{reply:?}") };
        let id = error.details["callId"].as_str().unwrap_or_else(|| panic!("{error:?}"));
        assert!(
            error.details["hint"].as_str().unwrap().ends_with(&format!("vouch calls show {id}"))
        );
        let answer = rig.store.kept_answer(id).await.unwrap();
        assert_eq!(answer.answer.principal, "tester");
        writeln!(kept, "{tool} {arguments}: {}\n  {}", answer.answer.violation, answer.raw)
            .unwrap();
    }
    assert_snapshot!(kept);
    rig.close().await;
}

/// The same at a real door: the whole message is searched.
#[tokio::test]
async fn a_model_never_reads_a_broken_answer() {
    let rig = Setup::new().child("up", &[]).start().await;
    for era in ["handshake", "stateless"] {
        let mut client = Client::connect(&rig, era).await;
        for (tool, arguments) in calls().into_iter().filter(|(tool, _)| *tool != "huge") {
            let params = json!({"name": format!("up__{tool}"), "arguments": arguments});
            let id = client.ask("tools/call", params).await;
            let (answer, before) = client.answer(id).await;
            assert_eq!(before, Vec::<Value>::new(), "{era}: {tool}");
            let text = answer.to_string();
            for marker in MARKERS {
                assert!(!text.contains(marker), "{era}: {tool} {arguments}: {text}");
            }
        }
    }
    rig.close().await;
}

/// To the last byte: blanks, digits of numbers, escapes, the order of keys. Only the kind of the result may be added.
#[tokio::test]
async fn a_good_answer_is_passed_on_as_it_is() {
    let call = json!({"name": "up__numbers", "arguments": {}});
    let mut told = Vec::new();
    for kind in KINDS {
        let rig = Setup::new().of(kind, "up", &["--only", "numbers"]).await.start().await;
        for era in ["handshake", "stateless"] {
            let mut client = Client::connect(&rig, era).await;
            client.ask("tools/call", call.clone()).await;
            let line = client.line().await;
            let (_, result) = line.split_once(r#""result":{"#).unwrap();
            let typed = result.strip_prefix(r#""resultType":"complete","#);
            // Who speaks the stateless protocol is told the kind, by its server or by us.
            assert!(typed.is_some() || (era, kind.era) == ("handshake", "handshake"), "{line}");
            told.push(typed.unwrap_or(result).to_owned());
        }
        rig.close().await;
    }
    assert_snapshot!(told[0]);
    assert!(told.iter().all(|other| *other == told[0]), "{told:#?}");
}
