use std::sync::Arc;

use store::{Approval, Consent, Decision, SqliteStore, State, Store, StoreError};

use crate::support::{Bench, MINUTE, request};

async fn consent(store: &SqliteStore, arguments: &str) -> Consent {
    let arguments = format!("sha256:{arguments}");
    store.consent("alice", "write_memory_entry", "sha256:c", &arguments).await.unwrap()
}

async fn ask(store: &SqliteStore, arguments: &str) -> Approval {
    store.request_approval(request(arguments)).await.unwrap()
}

#[tokio::test]
async fn an_approval_goes_from_pending_to_used() {
    let bench = Bench::new();
    let store = bench.store();
    assert_eq!(consent(&store, "a").await, Consent::None);

    let asked = ask(&store, "a").await;
    assert_eq!(consent(&store, "a").await, Consent::Pending(asked.id.clone()));
    bench.pass(MINUTE);
    store.decide(&asked.id, Decision::Approve, "bob").await.unwrap();
    bench.pass(MINUTE);
    assert_eq!(consent(&store, "a").await, Consent::Approved(asked.id.clone()));
    assert_eq!(consent(&store, "a").await, Consent::None);

    let used = Approval { id: "[id]".into(), ..store.approval(&asked.id).await.unwrap() };
    insta::assert_json_snapshot!(used);
}

#[tokio::test]
async fn the_same_request_is_asked_once_while_it_waits() {
    let bench = Bench::new();
    let (one, other) = (bench.store(), bench.store());
    let first = ask(&one, "a").await;
    bench.pass(MINUTE);
    assert_eq!(ask(&other, "a").await, first);
    assert_ne!(ask(&other, "b").await.id, first.id);

    bench.pass(10 * MINUTE);
    assert_ne!(ask(&one, "a").await.id, first.id, "an expired request is asked anew");
}

#[tokio::test]
async fn an_approval_serves_only_the_call_it_was_given_for() {
    let bench = Bench::new();
    let store = bench.store();
    let asked = ask(&store, "a").await;
    store.decide(&asked.id, Decision::Approve, "bob").await.unwrap();
    for [principal, tool, contract, arguments] in [
        ["mallory", "write_memory_entry", "sha256:c", "sha256:a"],
        ["alice", "other_tool", "sha256:c", "sha256:a"],
        ["alice", "write_memory_entry", "sha256:changed", "sha256:a"],
        ["alice", "write_memory_entry", "sha256:c", "sha256:b"],
    ] {
        let answer = store.consent(principal, tool, contract, arguments).await.unwrap();
        assert_eq!(answer, Consent::None, "{principal} {tool} {contract} {arguments}");
    }
    assert_eq!(consent(&store, "a").await, Consent::Approved(asked.id));
}

#[tokio::test]
async fn a_denial_holds_until_it_expires() {
    let bench = Bench::new();
    let store = bench.store();
    let asked = ask(&store, "a").await;
    store.decide(&asked.id, Decision::Deny, "bob").await.unwrap();
    assert_eq!(consent(&store, "a").await, Consent::Denied(asked.id.clone()));
    assert_eq!(consent(&store, "a").await, Consent::Denied(asked.id.clone()));
    bench.pass(10 * MINUTE);
    assert_eq!(consent(&store, "a").await, Consent::None);
    assert_eq!(store.approval(&asked.id).await.unwrap().state, State::Denied);
}

#[tokio::test]
async fn what_has_expired_never_counts() {
    let bench = Bench::new();
    let store = bench.store();
    let pending = ask(&store, "a").await;
    let approved = ask(&store, "b").await;
    store.decide(&approved.id, Decision::Approve, "bob").await.unwrap();
    bench.pass(10 * MINUTE);
    assert_eq!(consent(&store, "a").await, Consent::None);
    assert_eq!(consent(&store, "b").await, Consent::None);
    assert_eq!(store.approval(&pending.id).await.unwrap().state, State::Expired);
    assert_eq!(store.approval(&approved.id).await.unwrap().state, State::Expired);
}

#[tokio::test]
async fn a_decision_is_final_and_a_refusal_says_why() {
    let bench = Bench::new();
    let store = bench.store();
    let [approved, used, expired] =
        [ask(&store, "a").await, ask(&store, "b").await, ask(&store, "c").await];
    store.decide(&approved.id, Decision::Approve, "bob").await.unwrap();
    store.decide(&used.id, Decision::Approve, "bob").await.unwrap();
    consent(&store, "b").await;

    let again = async |id: String| store.decide(&id, Decision::Deny, "eve").await.unwrap_err();
    let error = again(approved.id.clone()).await;
    assert!(matches!(error, StoreError::AlreadyDecided { state: State::Approved, .. }), "{error}");
    let error = again(used.id.clone()).await;
    assert!(matches!(error, StoreError::AlreadyUsed { .. }), "{error}");
    for unknown in ["uuuuuuuuuu", "", "%", "a-very-long-id-that-nobody-made"] {
        let error = again(unknown.into()).await;
        assert!(matches!(&error, StoreError::UnknownApproval { id } if id == unknown), "{error}");
    }
    bench.pass(10 * MINUTE);
    let error = again(expired.id.clone()).await;
    assert!(matches!(error, StoreError::Expired { .. }), "{error}");
    assert_eq!(store.approval(&approved.id).await.unwrap().decided_by.as_deref(), Some("bob"));
}

#[tokio::test]
async fn a_unique_prefix_names_an_approval() {
    let bench = Bench::new();
    let store = bench.store();
    let mut ids = vec![];
    // With more ids than letters, two begin alike.
    for n in 0..33 {
        ids.push(ask(&store, &n.to_string()).await.id);
    }
    let shared = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    for id in &ids {
        let unique = ids.iter().filter(|other| *other != id).map(|other| shared(id, other)).max();
        let length = unique.unwrap() + 1;
        assert_eq!(&store.approval(&id[..length].to_uppercase()).await.unwrap().id, id);
        if length > 1 {
            let error = store.approval(&id[..length - 1]).await.unwrap_err();
            assert!(matches!(error, StoreError::AmbiguousApproval { .. }), "{error}");
        }
    }
}

#[tokio::test]
async fn the_list_is_newest_first_and_filtered_by_state() {
    let bench = Bench::new();
    let store = bench.store();
    for arguments in ["expired", "denied", "approved", "used", "pending"] {
        let asked = ask(&store, arguments).await;
        match arguments {
            "expired" => bench.pass(10 * MINUTE),
            "denied" => drop(store.decide(&asked.id, Decision::Deny, "bob").await.unwrap()),
            "approved" | "used" => {
                store.decide(&asked.id, Decision::Approve, "bob").await.unwrap();
            }
            _ => {}
        }
        bench.pass(MINUTE);
    }
    consent(&store, "used").await;

    let digests = |list: Vec<Approval>| {
        list.into_iter().map(|approval| approval.arguments_digest).collect::<Vec<_>>()
    };
    assert_eq!(
        digests(store.approvals(None).await.unwrap()),
        ["pending", "used", "approved", "denied", "expired"].map(|state| format!("sha256:{state}"))
    );
    for state in State::ALL {
        let list = store.approvals(Some(state)).await.unwrap();
        assert!(list.iter().all(|approval| approval.state == state));
        assert_eq!(digests(list), [format!("sha256:{state}")]);
    }
}

#[tokio::test]
async fn finished_approvals_are_forgotten_after_a_month() {
    let bench = Bench::new();
    let store = bench.store();
    let old = ask(&store, "a").await;
    bench.pass(31 * 24 * 60 * MINUTE);
    ask(&store, "b").await;
    assert!(store.approval(&old.id).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_ask_at_once_one_gets_the_approval() {
    let bench = Bench::new();
    let stores: Vec<_> = (0..8).map(|_| Arc::new(bench.store())).collect();
    for round in 0..10 {
        let arguments = round.to_string();
        let asked = ask(&stores[0], &arguments).await;
        stores[0].decide(&asked.id, Decision::Approve, "bob").await.unwrap();
        let racers: Vec<_> = (0..32)
            .map(|n| {
                let (store, arguments) = (stores[n % stores.len()].clone(), arguments.clone());
                tokio::spawn(async move { consent(&store, &arguments).await })
            })
            .collect();
        let mut won = 0;
        for racer in racers {
            won += usize::from(racer.await.unwrap() == Consent::Approved(asked.id.clone()));
        }
        assert_eq!(won, 1);
    }
}
