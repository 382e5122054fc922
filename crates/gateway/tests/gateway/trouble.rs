//! Servers that die, restart, forget, or never say anything: the others notice nothing, and the next call heals.

use std::sync::Arc;
use std::time::Duration;

use contract::Code;
use insta::assert_snapshot;
use serde_json::json;
use testkit::adversary::Served;

use crate::rig::{KINDS, Rig, Setup, Site, code, structured, until};

async fn good(rig: &Rig, tool: &str) {
    let reply = rig.call(tool, json!({"text": "well"})).await;
    assert_eq!(structured(&reply)["text"], "well", "{tool}");
}

/// At once means: not by a time limit, of which there is one of a minute.
#[tokio::test]
async fn a_child_that_dies_in_a_call_is_told_at_once_and_the_next_call_heals() {
    for kind in KINDS.into_iter().filter(|kind| !kind.http) {
        let rig = Setup::new().of(kind, "up", &["--only", "good,slow,dies"]).await.start().await;
        for life in 1..=3 {
            let pipeline = Arc::clone(&rig.pipeline);
            let slow = tokio::spawn(async move {
                pipeline.call(crate::rig::call("tester", "up__slow", json!({}))).await
            });
            until("the call to arrive", || rig.site.ran("up", "slow") == life).await;
            let reply = rig.tell("up__dies", json!({})).await;
            assert_eq!(
                reply,
                "UPSTREAM_UNAVAILABLE up went away during the call, which may have run: it ended with status 9 \
                 {\"upstream\":\"up\",\"mayHaveRun\":true}",
                "{kind}"
            );
            // Whoever else waited is told, too.
            assert_eq!(code(&slow.await.unwrap()), Some(Code::UpstreamUnavailable), "{kind}");
            good(&rig, "up__good").await;
            assert_eq!(rig.site.counted("up")["starts"], life + 1, "{kind}");
        }
        assert_eq!(rig.site.ran("up", "dies"), 3, "no call was repeated that may have run");
        rig.close().await;
    }
}

async fn restarted(site: &Site, served: Served, args: &[&str]) -> Served {
    let port = served.port().to_owned();
    served.stop().await;
    site.serve("up", &[args, &["--port", &port]].concat()).await
}

#[tokio::test]
async fn a_server_that_restarts_is_found_again_by_the_next_call() {
    for era in ["handshake", "stateless"] {
        let site = Site::new();
        let args = ["--only", "good,dies,slow", "--era", era];
        let mut served = site.serve("up", &args).await;
        let rig = Setup::on(&site).at("up", &served.url).start().await;
        good(&rig, "up__good").await;
        for life in 2..=3 {
            served = restarted(&site, served, &args).await;
            good(&rig, "up__good").await;
            assert_eq!(site.counted("up")["starts"], life, "{era}");
        }
        // In the middle of a call it is gone; nobody knows whether the call ran.
        let reply = rig.call("up__dies", json!({})).await;
        assert_eq!(code(&reply), Some(Code::UpstreamUnavailable), "{era}");
        assert!(format!("{reply:?}").contains("mayHaveRun"), "{reply:?}");
        let _served = restarted(&site, served, &args).await;
        until_well(&rig).await;
        assert_eq!(site.ran("up", "dies"), 1, "{era}");
        rig.close().await;
    }
}

/// A server that was looked for in vain is not looked for again at once.
async fn until_well(rig: &Rig) {
    let ends = tokio::time::Instant::now() + crate::rig::LIMIT;
    while code(&rig.call("up__good", json!({"text": "well"})).await).is_some() {
        assert!(tokio::time::Instant::now() < ends, "it never healed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_session_that_expires_is_opened_anew() {
    let args = ["--only", "good", "--era", "handshake", "--expire-sessions", "2"];
    let site = Site::new();
    let served = site.serve("up", &args).await;
    let rig = Setup::on(&site).at("up", &served.url).start().await;
    for _ in 0..10 {
        good(&rig, "up__good").await;
    }
    assert_eq!(site.ran("up", "good"), 10);
    assert!(rig.offers("up__good"));
    rig.close().await;
}

#[tokio::test]
async fn servers_that_cannot_be_listed_delay_nobody_and_say_why() {
    let dead = Site::new();
    let silent = dead.serve("silent", &["--dead"]).await;
    let setup = Setup::new()
        .child("dead", &["--dead"])
        .tune(|upstream| upstream.link.connect_timeout = Duration::from_secs(600))
        .at("silent", &silent.url)
        .tune(|upstream| upstream.link.connect_timeout = Duration::from_secs(600))
        .child("exits", &["--exit-at-start"])
        .child("endless", &["--only", "good", "--pages-forever"])
        .child("circles", &["--only", "good", "--same-cursor"])
        .at("nobody", "http://127.0.0.1:9/mcp")
        .tune(|upstream| upstream.link.connect_timeout = Duration::from_secs(5))
        .child("fine", &["--only", "good"]);
    let rig = setup.begin().await;
    // Those that never say anything are not waited for: their time to connect is ten minutes.
    rig.until_offered("fine__good", true).await;
    good(&rig, "fine__good").await;
    let failure = |name: &str| {
        let found = rig.gateway.upstreams().iter().find(|upstream| upstream.name() == name);
        found.expect("it is there").view().failure.clone()
    };
    let mut told = Vec::new();
    for name in ["exits", "endless", "circles", "nobody"] {
        until("the failure to be known", || failure(name).is_some()).await;
        told.push(format!("{name}: {}", failure(name).unwrap_or_default()));
    }
    assert_snapshot!(told.join("\n"));
    assert_eq!((failure("dead"), failure("silent")), (None, None));
    assert_eq!(rig.names(), ["fine__good"]);
    for tool in
        ["dead__good", "endless__good", "endless__endless_0", "circles__good", "exits__good"]
    {
        let reply = rig.call(tool, json!({"text": "a"})).await;
        assert_eq!(code(&reply), Some(Code::ToolNotFound), "{tool}");
    }
    tokio::time::timeout(Duration::from_secs(20), rig.close()).await.expect("it closes in time");
}

/// A server that comes up late is there then, without anybody's doing.
#[tokio::test]
async fn a_server_that_comes_late_is_let_in() {
    let site = Site::new();
    let served = site.serve("up", &["--only", "good"]).await;
    let (url, port) = (served.url.clone(), served.port().to_owned());
    served.stop().await;
    let rig = Setup::on(&site).at("up", &url).begin().await;
    until("the first look", || rig.gateway.upstreams()[0].view().failure.is_some()).await;
    assert_eq!(rig.names(), Vec::<String>::new());
    let _served = site.serve("up", &["--only", "good", "--port", &port]).await;
    rig.until_offered("up__good", true).await;
    good(&rig, "up__good").await;
    assert_eq!(rig.gateway.upstreams()[0].view().failure, None);
    rig.close().await;
}

/// A server that comes back with other tools than it left with: what it offers now counts, and is looked at first.
#[tokio::test]
async fn a_restarted_server_is_listed_again() {
    let site = Site::new();
    let served = site.serve("up", &["--only", "good,good_many"]).await;
    let rig = Setup::on(&site).at("up", &served.url).start().await;
    let _served = restarted(&site, served, &["--only", "good,error"]).await;
    good(&rig, "up__good").await;
    rig.until_offered("up__error", true).await;
    assert_eq!(rig.names(), ["up__error", "up__good"]);
    rig.close().await;
}

/// A call is not handed the answer of another one that fits no schema of its own.
#[tokio::test]
async fn an_answer_under_a_foreign_id_is_nobodys_data() {
    for kind in KINDS {
        let rig = Setup::new().of(kind, "up", &["--only", "good,slow,foreign"]).await.start().await;
        let pipeline = Arc::clone(&rig.pipeline);
        let slow = tokio::spawn(async move {
            pipeline.call(crate::rig::call("tester", "up__slow", json!({}))).await
        });
        until("the call to arrive", || rig.site.ran("up", "slow") == 1).await;
        let reply = rig.call("up__foreign", json!({})).await;
        assert_eq!(structured(&reply)["text"], "meant for this call", "{kind}");
        if kind.http {
            // An answer that comes with the request of another call is not even looked at.
            assert!(!slow.is_finished());
            slow.abort();
        } else {
            let reply = slow.await.unwrap();
            assert_eq!(code(&reply), Some(Code::ContractViolation), "{kind}: {reply:?}");
            assert!(!format!("{reply:?}").contains("meant for another call"), "{reply:?}");
        }
        rig.close().await;
    }
}
