use std::sync::Arc;

use store::{
    Approval, ApprovalChannel, ApprovalDecision, ApprovalState, Approver, Consent, SqliteStore,
    Store, StoreError,
};

use crate::support::{MINUTE, StoreFixture, new_approval};

async fn claim_consent(store: &SqliteStore, arguments: &str) -> Consent {
    let arguments = format!("sha256:{arguments}");
    store.claim_consent("alice", "write_memory_entry", "sha256:c", &arguments).await.unwrap()
}

fn queue(name: &str) -> Approver {
    Approver::new(name, ApprovalChannel::Queue)
}

fn approved(approval: &Approval, by: &str) -> Consent {
    Consent::Approved { id: approval.id.clone(), approver: queue(by) }
}

async fn request_approval(store: &SqliteStore, arguments: &str) -> Approval {
    store.request_approval(new_approval(arguments)).await.unwrap()
}

#[tokio::test]
async fn approval_moves_from_pending_to_used() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    assert_eq!(claim_consent(&store, "a").await, Consent::None);

    let requested = request_approval(&store, "a").await;
    assert_eq!(claim_consent(&store, "a").await, Consent::Pending(requested.id.clone()));
    fixture.advance_clock(MINUTE);
    store.decide_approval(&requested.id, ApprovalDecision::Approve, &queue("bob")).await.unwrap();
    fixture.advance_clock(MINUTE);
    assert_eq!(claim_consent(&store, "a").await, approved(&requested, "bob"));
    assert_eq!(claim_consent(&store, "a").await, Consent::None);

    let used = Approval { id: "[id]".into(), ..store.find_approval(&requested.id).await.unwrap() };
    insta::assert_json_snapshot!(used);
}

#[tokio::test]
async fn identical_request_returns_pending_approval() {
    let fixture = StoreFixture::new();
    let (one, other) = (fixture.store(), fixture.store());
    let first = request_approval(&one, "a").await;
    fixture.advance_clock(MINUTE);
    assert_eq!(request_approval(&other, "a").await, first);
    assert_ne!(request_approval(&other, "b").await.id, first.id);

    fixture.advance_clock(10 * MINUTE);
    assert_ne!(request_approval(&one, "a").await.id, first.id, "an expired request is replaced");
}

#[tokio::test]
async fn approval_is_valid_only_for_its_exact_call() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    let requested = request_approval(&store, "a").await;
    store.decide_approval(&requested.id, ApprovalDecision::Approve, &queue("bob")).await.unwrap();
    for [principal, tool, contract, arguments] in [
        ["mallory", "write_memory_entry", "sha256:c", "sha256:a"],
        ["alice", "other_tool", "sha256:c", "sha256:a"],
        ["alice", "write_memory_entry", "sha256:changed", "sha256:a"],
        ["alice", "write_memory_entry", "sha256:c", "sha256:b"],
    ] {
        let answer = store.claim_consent(principal, tool, contract, arguments).await.unwrap();
        assert_eq!(answer, Consent::None, "{principal} {tool} {contract} {arguments}");
    }
    assert_eq!(claim_consent(&store, "a").await, approved(&requested, "bob"));
}

#[tokio::test]
async fn denial_is_valid_until_it_expires() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    let requested = request_approval(&store, "a").await;
    store.decide_approval(&requested.id, ApprovalDecision::Deny, &queue("bob")).await.unwrap();
    assert_eq!(claim_consent(&store, "a").await, Consent::Denied(requested.id.clone()));
    assert_eq!(claim_consent(&store, "a").await, Consent::Denied(requested.id.clone()));
    fixture.advance_clock(10 * MINUTE);
    assert_eq!(claim_consent(&store, "a").await, Consent::None);
    assert_eq!(store.find_approval(&requested.id).await.unwrap().state, ApprovalState::Denied);
}

#[tokio::test]
async fn expired_approvals_give_no_consent() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    let pending = request_approval(&store, "a").await;
    let approved = request_approval(&store, "b").await;
    store.decide_approval(&approved.id, ApprovalDecision::Approve, &queue("bob")).await.unwrap();
    fixture.advance_clock(10 * MINUTE);
    assert_eq!(claim_consent(&store, "a").await, Consent::None);
    assert_eq!(claim_consent(&store, "b").await, Consent::None);
    assert_eq!(store.find_approval(&pending.id).await.unwrap().state, ApprovalState::Expired);
    assert_eq!(store.find_approval(&approved.id).await.unwrap().state, ApprovalState::Expired);
}

#[tokio::test]
async fn rejects_decision_unless_approval_is_pending() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    let [approved, used, expired] = [
        request_approval(&store, "a").await,
        request_approval(&store, "b").await,
        request_approval(&store, "c").await,
    ];
    store.decide_approval(&approved.id, ApprovalDecision::Approve, &queue("bob")).await.unwrap();
    store.decide_approval(&used.id, ApprovalDecision::Approve, &queue("bob")).await.unwrap();
    claim_consent(&store, "b").await;

    let decide_again = async |id: String| {
        store.decide_approval(&id, ApprovalDecision::Deny, &queue("eve")).await.unwrap_err()
    };
    let error = decide_again(approved.id.clone()).await;
    assert!(
        matches!(error, StoreError::ApprovalAlreadyDecided { state: ApprovalState::Approved, .. }),
        "{error}"
    );
    let error = decide_again(used.id.clone()).await;
    assert!(matches!(error, StoreError::ApprovalAlreadyUsed { .. }), "{error}");
    for unknown in ["uuuuuuuuuu", "", "%", "a-very-long-id-that-does-not-exist"] {
        let error = decide_again(unknown.into()).await;
        assert!(matches!(&error, StoreError::UnknownApproval { id } if id == unknown), "{error}");
    }
    fixture.advance_clock(10 * MINUTE);
    let error = decide_again(expired.id.clone()).await;
    assert!(matches!(error, StoreError::ApprovalExpired { .. }), "{error}");
    assert_eq!(store.find_approval(&approved.id).await.unwrap().decided_by.as_deref(), Some("bob"));
}

/// An empty id is the beginning of every id, even of the only one.
#[tokio::test]
async fn empty_id_names_no_approval() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    for arguments in ["a", "b"] {
        request_approval(&store, arguments).await;
        let error = store.find_approval("").await.unwrap_err();
        assert!(matches!(&error, StoreError::UnknownApproval { id } if id.is_empty()), "{error}");
    }
}

#[tokio::test]
async fn finds_approval_by_unique_id_prefix() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    let mut ids = vec![];
    // There are more ids than letters, so at least two share their first letter.
    for n in 0..33 {
        ids.push(request_approval(&store, &n.to_string()).await.id);
    }
    let shared = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    for id in &ids {
        let unique = ids.iter().filter(|other| *other != id).map(|other| shared(id, other)).max();
        let length = unique.unwrap() + 1;
        assert_eq!(&store.find_approval(&id[..length].to_uppercase()).await.unwrap().id, id);
        if length > 1 {
            let error = store.find_approval(&id[..length - 1]).await.unwrap_err();
            assert!(matches!(error, StoreError::AmbiguousApproval { .. }), "{error}");
        }
    }
}

#[tokio::test]
async fn lists_approvals_newest_first_and_by_state() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    for arguments in ["expired", "denied", "approved", "used", "pending"] {
        let requested = request_approval(&store, arguments).await;
        match arguments {
            "expired" => fixture.advance_clock(10 * MINUTE),
            "denied" => drop(
                store
                    .decide_approval(&requested.id, ApprovalDecision::Deny, &queue("bob"))
                    .await
                    .unwrap(),
            ),
            "approved" | "used" => {
                store
                    .decide_approval(&requested.id, ApprovalDecision::Approve, &queue("bob"))
                    .await
                    .unwrap();
            }
            _ => {}
        }
        fixture.advance_clock(MINUTE);
    }
    claim_consent(&store, "used").await;

    let digests = |list: Vec<Approval>| {
        list.into_iter().map(|approval| approval.arguments_digest).collect::<Vec<_>>()
    };
    assert_eq!(
        digests(store.list_approvals(None).await.unwrap()),
        ["pending", "used", "approved", "denied", "expired"].map(|state| format!("sha256:{state}"))
    );
    for state in ApprovalState::ALL {
        let list = store.list_approvals(Some(state)).await.unwrap();
        assert!(list.iter().all(|approval| approval.state == state));
        assert_eq!(digests(list), [format!("sha256:{state}")]);
    }
}

#[tokio::test]
async fn prunes_approvals_30_days_after_expiry() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    let old = request_approval(&store, "a").await;
    fixture.advance_clock(31 * 24 * 60 * MINUTE);
    request_approval(&store, "b").await;
    assert!(store.find_approval(&old.id).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_calls_use_approval_once() {
    let fixture = StoreFixture::new();
    let stores: Vec<_> = (0..8).map(|_| Arc::new(fixture.store())).collect();
    for round in 0..10 {
        let arguments = round.to_string();
        let requested = request_approval(&stores[0], &arguments).await;
        stores[0]
            .decide_approval(&requested.id, ApprovalDecision::Approve, &queue("bob"))
            .await
            .unwrap();
        let racers: Vec<_> = (0..32)
            .map(|n| {
                let (store, arguments) = (stores[n % stores.len()].clone(), arguments.clone());
                tokio::spawn(async move { claim_consent(&store, &arguments).await })
            })
            .collect();
        let mut won = 0;
        for racer in racers {
            won += usize::from(racer.await.unwrap() == approved(&requested, "bob"));
        }
        assert_eq!(won, 1);
    }
}

#[tokio::test]
async fn principal_cannot_approve_its_own_call() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    let requested = request_approval(&store, "a").await;
    for channel in ApprovalChannel::ALL {
        let own = Approver::new("alice", channel);
        let error = store
            .decide_approval(&requested.id, ApprovalDecision::Approve, &own)
            .await
            .unwrap_err();
        assert!(matches!(error, StoreError::SelfApproval { .. }), "{error}");
    }
    assert_eq!(claim_consent(&store, "a").await, Consent::Pending(requested.id.clone()));
    // Giving up its own request is harmless.
    store.decide_approval(&requested.id, ApprovalDecision::Deny, &queue("alice")).await.unwrap();
    assert_eq!(claim_consent(&store, "a").await, Consent::Denied(requested.id));
}

#[tokio::test]
async fn answer_of_the_client_is_recorded_and_approves_nothing_else() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    let client = Approver::new("alice", ApprovalChannel::Client);
    for decision in [ApprovalDecision::Approve, ApprovalDecision::Deny] {
        let recorded = store.record_answer(new_approval("a"), decision, &client).await.unwrap();
        assert_eq!(claim_consent(&store, "a").await, Consent::None, "{decision:?}");
        let kept = store.find_approval(&recorded.id).await.unwrap();
        assert_eq!(kept, recorded);
        assert_eq!(kept.decided_by.as_deref(), Some("alice"));
        assert_eq!(kept.channel, Some(ApprovalChannel::Client));
        assert_eq!(kept.used_at.is_some(), decision == ApprovalDecision::Approve);
        let again = store.decide_approval(&recorded.id, decision, &queue("bob")).await;
        again.unwrap_err();
    }
}
