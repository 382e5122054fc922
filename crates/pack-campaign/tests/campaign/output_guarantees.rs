//! Output guarantees of the contract, each by its name.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::{CampaignSetup, TestCampaign, wait_until};

fn events(answer: &Value) -> &Vec<Value> {
    answer["events"].as_array().unwrap()
}

#[test]
fn read_logs_events_sorted_by_timestamp_newest_first() {
    let scene = TestCampaign::paused();
    let logs = scene.call_ok("read_logs", json!({"count": 2500}));
    let time = |event: &Value| event["timestamp"].as_str().unwrap().parse::<Timestamp>().unwrap();
    let times: Vec<Timestamp> = events(&logs).iter().map(time).collect();
    assert!(times.len() > 3);
    assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    assert_eq!(logs["totalCount"], times.len());
}

#[test]
fn read_logs_filters_combine() {
    let scene = TestCampaign::paused();
    for worker in [0, 1] {
        let filter = json!({"eventType": "WorkerStarted", "workerId": worker, "count": 2500});
        let logs = scene.call_ok("read_logs", filter);
        assert_eq!(events(&logs).len(), 1, "{logs}");
        assert_eq!(events(&logs)[0]["workerId"], worker);
        assert_eq!(events(&logs)[0]["eventType"], "WorkerStarted");
        assert_eq!(events(&logs)[0]["data"], json!({}));
    }
    let one = scene.call_ok("read_logs", json!({"count": 1, "workerId": 1}));
    let all = scene.call_ok("read_logs", json!({"count": 2500, "workerId": 1}));
    assert_eq!(events(&one)[..], events(&all)[..1]);
}

/// Covers all five event types and the data of each.
#[test]
fn read_logs_returns_every_event_type() {
    let mut setting = CampaignSetup::default();
    setting.settings.test_limit = 200_000;
    let scene = TestCampaign::running(setting);
    scene.call_ok("inject_transaction", json!({"sequence": ["deposit(5)", "withdraw(6)"]}));
    wait_until("the campaign ends", || scene.shared.has_ended());
    let data = |kind: &str| {
        let logs = scene.call_ok("read_logs", json!({"eventType": kind, "count": 2500}));
        let all: Vec<Value> = events(&logs).iter().map(|event| event["data"].clone()).collect();
        assert!(!all.is_empty(), "no {kind}");
        all
    };
    let keys = |data: &Value| {
        let keys: BTreeSet<&str> = data.as_object().unwrap().keys().map(String::as_str).collect();
        keys.into_iter().collect::<Vec<_>>().join(" ")
    };
    data("WorkerStarted");
    assert_eq!(data("WorkerStopped")[0], json!({"reason": "the call limit was reached"}));

    let failed = data("PropertyFalsified");
    let shrunk = failed.iter().find(|data| data["shrunk"] == true).unwrap();
    assert_eq!(keys(shrunk), "contract counterexample gasUsed property shrunk");
    assert_eq!(shrunk["property"], "echidna_nobody_owns_more_than_there_is");
    assert_eq!(shrunk["contract"], "Vault");
    let calls = shrunk["counterexample"].as_array().unwrap();
    assert_eq!(calls.len(), 2, "{shrunk}");
    assert!(calls[0].as_str().unwrap().starts_with("deposit("), "{shrunk}");
    assert!(shrunk["gasUsed"].as_u64().unwrap() > 0, "{shrunk}");

    let grown = data("CoverageIncreased");
    assert_eq!(keys(&grown[0]), "call corpusSize function newBranches newLines");
    let has_lines = |data: &&Value| !data["newLines"].as_array().unwrap().is_empty();
    let lines = &grown.iter().find(has_lines).unwrap()["newLines"];
    assert!(lines[0].as_str().unwrap().starts_with("Vault.sol:"), "{lines}");
    let lcov = scene.call_ok("dump_lcov", json!({}));
    let ran: BTreeSet<&str> = lcov["lcov"]
        .as_str()
        .unwrap()
        .lines()
        .filter_map(|line| line.strip_prefix("DA:")?.split_once(','))
        .filter_map(|(line, count)| (count != "0").then_some(line))
        .collect();
    for line in grown.iter().flat_map(|data| data["newLines"].as_array().unwrap()) {
        let number = line.as_str().unwrap().strip_prefix("Vault.sol:").unwrap();
        assert!(ran.contains(number), "{line} never ran");
    }
    let largest = grown.iter().map(|data| data["corpusSize"].as_u64()).max().unwrap();
    assert_eq!(largest, scene.call_ok("get_corpus_size", json!({}))["size"].as_u64());

    let executed = data("TransactionExecuted");
    let injected: Vec<&Value> = executed.iter().filter(|data| data["injected"] == true).collect();
    assert_eq!(keys(injected[0]), "call function gasUsed injected sender success value");
    let summaries: BTreeSet<String> = injected
        .iter()
        .map(|data| format!("{} {} {}", data["call"], data["function"], data["success"]))
        .collect();
    let expected =
        [r#""deposit(5)" "deposit(uint256)" true"#, r#""withdraw(6)" "withdraw(uint256)" false"#];
    assert_eq!(summaries.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(injected.len(), 4, "each worker makes both calls once, as written");
}

#[test]
fn show_coverage_percentages_rounded_to_1_decimal_place() {
    let scene = TestCampaign::paused();
    let shown = scene.call_ok("show_coverage", json!({}));
    let check = |number: &Value| {
        let number = number.as_f64().unwrap();
        assert_eq!((number * 10.0).round() / 10.0, number);
        assert!((0.0..=100.0).contains(&number));
    };
    check(&shown["overallCoverage"]);
    let contracts = shown["contracts"].as_array().unwrap();
    assert_eq!(contracts.len(), 1);
    for contract in contracts {
        assert_eq!(contract["name"], "Vault");
        check(&contract["lineCoverage"]);
        check(&contract["branchCoverage"]);
    }
}

#[test]
fn inspect_corpus_transactions_results_ordered_by_corpus_index() {
    let scene = TestCampaign::paused();
    let size = scene.call_ok("get_corpus_size", json!({}))["size"].as_u64().unwrap();
    let mut seen = Vec::new();
    for offset in (0..size + 7).step_by(7) {
        let page =
            scene.call_ok("inspect_corpus_transactions", json!({"offset": offset, "limit": 7}));
        assert_eq!(page["total"], size, "all tools report the same corpus size");
        let page = page["transactions"].as_array().unwrap().clone();
        seen.extend(page.iter().map(|it| it["index"].as_u64().unwrap()));
    }
    assert_eq!(seen, (0..size).collect::<Vec<_>>());
    for past in [json!(size), json!(u64::MAX), json!(1e30)] {
        let page = scene.call_ok("inspect_corpus_transactions", json!({"offset": past}));
        assert_eq!(page, json!({"transactions": [], "total": size}), "{past}");
    }
    let calls: usize = scene.shared.corpus().iter().map(|entry| entry.calls.len()).sum();
    assert_eq!(size, calls as u64);
}

#[test]
fn inspect_corpus_transactions_returns_20_by_default() {
    let scene = TestCampaign::running(CampaignSetup::default());
    wait_until("the corpus has over 20 transactions", || {
        scene.call_ok("get_corpus_size", json!({}))["size"].as_u64() > Some(20)
    });
    let page = scene.call_ok("inspect_corpus_transactions", json!({}));
    let transactions = page["transactions"].as_array().unwrap();
    assert_eq!(transactions.len(), 20);
    assert!(transactions.iter().all(|it| it["gasUsed"].is_u64()), "{page}");
}

#[test]
fn find_transaction_in_corpus_matches_a_full_scan() {
    let scene = TestCampaign::paused();
    let mut all = Vec::new();
    let size = scene.call_ok("get_corpus_size", json!({}))["size"].as_u64().unwrap();
    for offset in (0..size).step_by(100) {
        let page =
            scene.call_ok("inspect_corpus_transactions", json!({"offset": offset, "limit": 100}));
        all.extend(page["transactions"].as_array().unwrap().clone());
    }
    let deposits = |it: &&Value| it["call"].as_str().unwrap().starts_with("deposit(");
    let deposits: Vec<&Value> = all.iter().filter(deposits).collect();
    let found = scene
        .call_ok("find_transaction_in_corpus", json!({"functionSignature": "deposit(uint256)"}));
    assert_eq!(found["count"], deposits.len());
    assert_eq!(found["matches"], json!(deposits));
    let sender = deposits[0]["sender"].clone();
    let of_sender = deposits.iter().filter(|it| it["sender"] == sender).count();
    let both = json!({"functionSignature": "deposit(uint256)", "sender": sender});
    assert_eq!(scene.call_ok("find_transaction_in_corpus", both.clone())["count"], of_sender);
    let mut all = both;
    all["minValue"] = json!("1");
    assert_eq!(
        scene.call_ok("find_transaction_in_corpus", all)["count"],
        0,
        "no function is payable"
    );
}
