use std::time::Duration;

use store::Store;

use crate::support::{Bench, MINUTE};

#[tokio::test]
async fn a_nonce_is_good_once() {
    let bench = Bench::new();
    let (one, other) = (bench.store(), bench.store());
    let expires = bench.now() + MINUTE;
    assert!(one.use_nonce("n", expires).await.unwrap());
    assert!(!one.use_nonce("n", expires).await.unwrap());
    assert!(!other.use_nonce("n", expires).await.unwrap());
    assert!(other.use_nonce("m", expires).await.unwrap());
}

#[tokio::test]
async fn an_expired_nonce_is_not_good_even_once() {
    let bench = Bench::new();
    let store = bench.store();
    let expires = bench.now() + MINUTE;
    assert!(store.use_nonce("n", expires).await.unwrap());
    bench.pass(MINUTE - Duration::from_millis(1));
    assert!(!store.use_nonce("n", expires).await.unwrap());
    bench.pass(Duration::from_millis(1));
    assert!(!store.use_nonce("n", expires).await.unwrap(), "pruned, but expired");
    assert!(!store.use_nonce("never seen", expires).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_made_once_for_all() {
    let bench = Bench::new();
    let racers: Vec<_> = (0..8)
        .map(|_| {
            let store = bench.store();
            tokio::spawn(async move { store.secret("seal").await.unwrap() })
        })
        .collect();
    let known = bench.store().secret("seal").await.unwrap();
    for racer in racers {
        assert_eq!(racer.await.unwrap(), known);
    }
    assert_ne!(bench.store().secret("other").await.unwrap(), known);
    assert_ne!(known, [0; 32]);
}
