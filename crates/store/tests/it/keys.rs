use std::time::Duration;

use store::Store;

use crate::support::{MINUTE, StoreFixture};

#[tokio::test]
async fn accepts_nonce_once() {
    let fixture = StoreFixture::new();
    let (one, other) = (fixture.store(), fixture.store());
    let expires = fixture.now() + MINUTE;
    assert!(one.use_nonce("n", expires).await.unwrap());
    assert!(!one.use_nonce("n", expires).await.unwrap());
    assert!(!other.use_nonce("n", expires).await.unwrap());
    assert!(other.use_nonce("m", expires).await.unwrap());
}

#[tokio::test]
async fn rejects_expired_nonce() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    let expires = fixture.now() + MINUTE;
    assert!(store.use_nonce("n", expires).await.unwrap());
    fixture.advance_clock(MINUTE - Duration::from_millis(1));
    assert!(!store.use_nonce("n", expires).await.unwrap());
    fixture.advance_clock(Duration::from_millis(1));
    assert!(!store.use_nonce("n", expires).await.unwrap(), "deleted, but expired");
    assert!(!store.use_nonce("never seen", expires).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_callers_get_the_same_secret() {
    let fixture = StoreFixture::new();
    let racers: Vec<_> = (0..8)
        .map(|_| {
            let store = fixture.store();
            tokio::spawn(async move { store.get_or_create_secret("seal").await.unwrap() })
        })
        .collect();
    let secret = fixture.store().get_or_create_secret("seal").await.unwrap();
    for racer in racers {
        assert_eq!(racer.await.unwrap(), secret);
    }
    assert_ne!(fixture.store().get_or_create_secret("other").await.unwrap(), secret);
    assert_ne!(secret, [0; 32]);
}
