use store::Store;

use crate::support::StoreFixture;

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
