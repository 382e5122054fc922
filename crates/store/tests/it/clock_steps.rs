//! Steps of the clock revive nothing: neither used or expired request states nor expired approvals.

use std::time::Duration;

use store::{ApprovalChannel, ApprovalDecision, ApprovalState, Approver, Consent, Store};

use crate::support::{MINUTE, StoreFixture, new_approval};

const TTL: Duration = Duration::from_secs(15 * 60);
const YEARS: Duration = Duration::from_secs(14 * 365 * 24 * 3600);

fn bob() -> Approver {
    Approver::new("bob", ApprovalChannel::Queue)
}

async fn claim(store: &impl Store) -> Consent {
    store.claim_consent("alice", "write_memory_entry", "sha256:c", "sha256:a").await.unwrap()
}

#[tokio::test]
async fn nonce_is_used_once() {
    let fixture = StoreFixture::new();
    let (one, other) = (fixture.store(), fixture.store());
    one.issue_nonce("n", "alice", TTL).await.unwrap();
    other.issue_nonce("m", "alice", TTL).await.unwrap();
    assert!(!one.use_nonce("never issued").await.unwrap());
    assert!(one.use_nonce("n").await.unwrap());
    assert!(!one.use_nonce("n").await.unwrap());
    assert!(!other.use_nonce("n").await.unwrap());
    assert!(other.use_nonce("m").await.unwrap());
}

#[tokio::test]
async fn nonce_expires() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    store.issue_nonce("n", "alice", TTL).await.unwrap();
    store.issue_nonce("m", "alice", TTL).await.unwrap();
    fixture.advance_clock(TTL - Duration::from_millis(1));
    assert!(store.use_nonce("n").await.unwrap());
    fixture.advance_clock(Duration::from_millis(1));
    assert!(!store.use_nonce("m").await.unwrap());
}

/// The attack: the state is used, the clock is set forward so that it is forgotten, and back so that it is fresh again.
#[tokio::test]
async fn used_nonce_stays_used_after_the_clock_was_set_forward_and_back() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    for forward in [TTL + MINUTE, 24 * 60 * MINUTE, YEARS] {
        store.issue_nonce("n", "alice", TTL).await.unwrap();
        assert!(store.use_nonce("n").await.unwrap());
        fixture.advance_clock(forward);
        store.issue_nonce("later", "alice", TTL).await.unwrap();
        assert!(store.use_nonce("later").await.unwrap());
        fixture.set_clock_back(forward);
        assert!(!store.use_nonce("n").await.unwrap(), "{forward:?}");
        assert!(!fixture.store().use_nonce("n").await.unwrap(), "in another process");
    }
}

#[tokio::test]
async fn expired_nonce_stays_expired_after_the_clock_was_set_back() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    // The refusal itself is the only access at the later time.
    for back in [MINUTE, TTL, YEARS] {
        store.issue_nonce("n", "alice", TTL).await.unwrap();
        fixture.advance_clock(TTL);
        assert!(!store.use_nonce("n").await.unwrap());
        fixture.set_clock_back(back);
        assert!(!store.use_nonce("n").await.unwrap(), "{back:?}");
    }
}

#[tokio::test]
async fn clock_set_back_ends_open_entries_and_new_ones_work() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    fixture.advance_clock(YEARS);
    store.issue_nonce("n", "alice", TTL).await.unwrap();
    let approval = store.request_approval(new_approval("a")).await.unwrap();
    store.decide_approval(&approval.id, ApprovalDecision::Approve, &bob()).await.unwrap();
    // Otherwise both would be valid for years.
    fixture.set_clock_back(YEARS);
    assert!(!store.use_nonce("n").await.unwrap());
    assert_eq!(claim(&store).await, Consent::None);
    assert_eq!(store.find_approval(&approval.id).await.unwrap().state, ApprovalState::Expired);

    // No lockout: the corrected clock counts.
    store.issue_nonce("m", "alice", TTL).await.unwrap();
    assert!(store.use_nonce("m").await.unwrap());
    let approval = store.request_approval(new_approval("a")).await.unwrap();
    store.decide_approval(&approval.id, ApprovalDecision::Approve, &bob()).await.unwrap();
    assert!(matches!(claim(&store).await, Consent::Approved { .. }));
    store.request_approval(new_approval("a")).await.unwrap();
    fixture.advance_clock(10 * MINUTE);
    assert_eq!(claim(&store).await, Consent::None, "it expires in time");
}

/// An approval that was seen as expired, in any way, does not become valid again.
#[tokio::test]
async fn expired_approval_stays_expired_after_the_clock_was_set_back() {
    for look in ["claim", "find", "list", "decide", "nothing found"] {
        for back in [MINUTE, 5 * MINUTE, YEARS] {
            let fixture = StoreFixture::new();
            let store = fixture.store();
            let approved = store.request_approval(new_approval("a")).await.unwrap();
            store.decide_approval(&approved.id, ApprovalDecision::Approve, &bob()).await.unwrap();
            let pending = store.request_approval(new_approval("b")).await.unwrap();
            fixture.advance_clock(10 * MINUTE);
            match look {
                "claim" => assert_eq!(claim(&store).await, Consent::None),
                "find" => drop(store.find_approval(&pending.id).await.unwrap()),
                "list" => drop(store.list_approvals(None).await.unwrap()),
                "decide" => {
                    let decision = ApprovalDecision::Approve;
                    store.decide_approval(&pending.id, decision, &bob()).await.unwrap_err();
                }
                _ => drop(store.find_approval("zzzz").await.unwrap_err()),
            }
            fixture.set_clock_back(back);
            assert_eq!(claim(&store).await, Consent::None, "{look}, {back:?}");
            for id in [&approved.id, &pending.id] {
                let state = store.find_approval(id).await.unwrap().state;
                assert_eq!(state, ApprovalState::Expired, "{look}, {back:?}");
            }
        }
    }
}

#[tokio::test]
async fn small_steps_back_do_no_harm() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    let approval = store.request_approval(new_approval("a")).await.unwrap();
    store.issue_nonce("n", "alice", TTL).await.unwrap();
    fixture.set_clock_back(Duration::from_secs(10));
    store.decide_approval(&approval.id, ApprovalDecision::Approve, &bob()).await.unwrap();
    assert!(matches!(claim(&store).await, Consent::Approved { .. }));
    assert!(store.use_nonce("n").await.unwrap());
}

#[tokio::test]
async fn small_steps_back_do_not_add_up() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    store.issue_nonce("n", "alice", TTL).await.unwrap();
    // Each step is within the tolerance of the last time seen, but the clock runs in place.
    for _ in 0..250 {
        fixture.advance_clock(Duration::from_secs(9));
        store.list_approvals(None).await.unwrap();
        fixture.set_clock_back(Duration::from_secs(5));
        store.list_approvals(None).await.unwrap();
    }
    assert!(!store.use_nonce("n").await.unwrap(), "more than 15 minutes have been seen");
}

#[tokio::test]
async fn unused_nonces_of_a_principal_are_bounded() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    store.issue_nonce("other", "bob", TTL).await.unwrap();
    for n in 0..1001 {
        store.issue_nonce(&format!("n{n}"), "alice", TTL).await.unwrap();
        fixture.advance_clock(Duration::from_millis(1));
    }
    assert!(!store.use_nonce("n0").await.unwrap(), "the oldest is dropped");
    assert!(store.use_nonce("n1").await.unwrap());
    assert!(store.use_nonce("n1000").await.unwrap());
    assert!(store.use_nonce("other").await.unwrap(), "others are not affected");
}
