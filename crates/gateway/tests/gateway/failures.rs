//! Tests servers that die, restart, lose sessions or never answer: other upstreams are unaffected, and the next call
//! reconnects.

use std::sync::Arc;
use std::time::Duration;

use contract::ErrorCode;
use insta::assert_snapshot;
use serde_json::json;
use testkit::adversary::HttpAdversary;

use crate::harness::{
    GatewaySetup, KINDS, ProjectFolder, TestGateway, reply_code, structured_content, wait_until,
};

async fn call_good(rig: &TestGateway, tool: &str) {
    let reply = rig.call(tool, json!({"text": "well"})).await;
    assert_eq!(structured_content(&reply)["text"], "well", "{tool}");
}

/// The error arrives immediately, well before the time limit of one minute.
#[tokio::test]
async fn reports_dead_child_immediately_and_restarts_it() {
    for kind in KINDS.into_iter().filter(|kind| !kind.http) {
        let rig = GatewaySetup::new()
            .with_kind(kind, "up", &["--only", "good,slow,dies"])
            .await
            .start()
            .await;
        for life in 1..=3 {
            let pipeline = Arc::clone(&rig.pipeline);
            let slow = tokio::spawn(async move {
                pipeline.call(crate::harness::call("tester", "up__slow", json!({}))).await
            });
            wait_until("the call to arrive", || rig.site.count_calls("up", "slow") == life).await;
            let reply = rig.call_to_text("up__dies", json!({})).await;
            assert_eq!(
                reply,
                "UPSTREAM_UNAVAILABLE lost the connection to up during the call, which may have run: it exited with \
                 status 9 {\"upstream\":\"up\",\"mayHaveRun\":true}",
                "{kind}"
            );
            // Other pending calls fail too.
            assert_eq!(
                reply_code(&slow.await.unwrap()),
                Some(ErrorCode::UpstreamUnavailable),
                "{kind}"
            );
            call_good(&rig, "up__good").await;
            assert_eq!(rig.site.read_counts("up")["starts"], life + 1, "{kind}");
        }
        assert_eq!(
            rig.site.count_calls("up", "dies"),
            3,
            "a call that may have run is not repeated"
        );
        rig.close().await;
    }
}

async fn restart_server(
    site: &ProjectFolder,
    served: HttpAdversary,
    args: &[&str],
) -> HttpAdversary {
    let port = served.port().to_owned();
    served.stop().await;
    site.serve_adversary("up", &[args, &["--port", &port]].concat()).await
}

#[tokio::test]
async fn next_call_reconnects_to_restarted_server() {
    for era in ["handshake", "stateless"] {
        let site = ProjectFolder::new();
        let args = ["--only", "good,dies,slow", "--era", era];
        let mut served = site.serve_adversary("up", &args).await;
        let rig = GatewaySetup::in_project(&site).with_url("up", &served.url).start().await;
        call_good(&rig, "up__good").await;
        for life in 2..=3 {
            served = restart_server(&site, served, &args).await;
            call_good(&rig, "up__good").await;
            assert_eq!(site.read_counts("up")["starts"], life, "{era}");
        }
        // The server dies during a call, so the call may have run.
        let reply = rig.call("up__dies", json!({})).await;
        assert_eq!(reply_code(&reply), Some(ErrorCode::UpstreamUnavailable), "{era}");
        assert!(format!("{reply:?}").contains("mayHaveRun"), "{reply:?}");
        let _served = restart_server(&site, served, &args).await;
        wait_until_recovered(&rig).await;
        assert_eq!(site.count_calls("up", "dies"), 1, "{era}");
        rig.close().await;
    }
}

/// Retries until the server answers, because reconnecting is delayed after a failed attempt.
async fn wait_until_recovered(rig: &TestGateway) {
    let ends = tokio::time::Instant::now() + crate::harness::LIMIT;
    while reply_code(&rig.call("up__good", json!({"text": "well"})).await).is_some() {
        assert!(tokio::time::Instant::now() < ends, "the upstream never recovered");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn reopens_expired_session() {
    let args = ["--only", "good", "--era", "handshake", "--expire-sessions", "2"];
    let site = ProjectFolder::new();
    let served = site.serve_adversary("up", &args).await;
    let rig = GatewaySetup::in_project(&site).with_url("up", &served.url).start().await;
    for _ in 0..10 {
        call_good(&rig, "up__good").await;
    }
    assert_eq!(site.count_calls("up", "good"), 10);
    assert!(rig.is_offered("up__good"));
    rig.close().await;
}

#[tokio::test]
async fn reports_unlistable_servers_without_delaying_others() {
    let dead = ProjectFolder::new();
    let silent = dead.serve_adversary("silent", &["--dead"]).await;
    let setup = GatewaySetup::new()
        .with_child("dead", &["--dead"])
        .tune_upstream(|upstream| upstream.link.connect_timeout = Duration::from_secs(600))
        .with_url("silent", &silent.url)
        .tune_upstream(|upstream| upstream.link.connect_timeout = Duration::from_secs(600))
        .with_child("exits", &["--exit-at-start"])
        .with_child("endless", &["--only", "good", "--pages-forever"])
        .with_child("circles", &["--only", "good", "--same-cursor"])
        .with_url("unreachable", "http://127.0.0.1:9/mcp")
        .with_child("fine", &["--only", "good"]);
    let rig = setup.start_without_waiting().await;
    // Silent servers are not waited for: their connect timeout is ten minutes.
    rig.wait_until_offered("fine__good", true).await;
    call_good(&rig, "fine__good").await;
    let failure = |name: &str| {
        let found = rig.gateway.upstreams().iter().find(|upstream| upstream.name() == name);
        found.expect("the upstream exists").snapshot().failure.clone()
    };
    let mut failures = Vec::new();
    for name in ["exits", "endless", "circles", "unreachable"] {
        wait_until("the failure to be known", || failure(name).is_some()).await;
        failures.push(format!("{name}: {}", failure(name).unwrap_or_default()));
    }
    assert_snapshot!(failures.join("\n"));
    assert_eq!((failure("dead"), failure("silent")), (None, None));
    assert_eq!(rig.tool_names(), ["fine__good"]);
    for tool in
        ["dead__good", "endless__good", "endless__endless_0", "circles__good", "exits__good"]
    {
        let reply = rig.call(tool, json!({"text": "a"})).await;
        assert_eq!(reply_code(&reply), Some(ErrorCode::ToolNotFound), "{tool}");
    }
    tokio::time::timeout(crate::harness::LIMIT, rig.close())
        .await
        .expect("the gateway closes in time");
}

/// A server that starts late is admitted without intervention.
#[tokio::test]
async fn admits_server_that_starts_late() {
    let site = ProjectFolder::new();
    let served = site.serve_adversary("up", &["--only", "good"]).await;
    let (url, port) = (served.url.clone(), served.port().to_owned());
    served.stop().await;
    let rig = GatewaySetup::in_project(&site).with_url("up", &url).start_without_waiting().await;
    wait_until("the first refresh", || rig.gateway.upstreams()[0].snapshot().failure.is_some())
        .await;
    assert_eq!(rig.tool_names(), Vec::<String>::new());
    let _served = site.serve_adversary("up", &["--only", "good", "--port", &port]).await;
    rig.wait_until_offered("up__good", true).await;
    call_good(&rig, "up__good").await;
    assert_eq!(rig.gateway.upstreams()[0].snapshot().failure, None);
    rig.close().await;
}

/// A server may restart with different tools. They are admitted before they are offered.
#[tokio::test]
async fn lists_restarted_server_again() {
    let site = ProjectFolder::new();
    let served = site.serve_adversary("up", &["--only", "good,good_many"]).await;
    let rig = GatewaySetup::in_project(&site).with_url("up", &served.url).start().await;
    let _served = restart_server(&site, served, &["--only", "good,error"]).await;
    call_good(&rig, "up__good").await;
    rig.wait_until_offered("up__error", true).await;
    assert_eq!(rig.tool_names(), ["up__error", "up__good"]);
    rig.close().await;
}

/// A call never receives the answer of another call that violates its own schema.
#[tokio::test]
async fn withholds_answer_with_foreign_id() {
    for kind in KINDS {
        let rig = GatewaySetup::new()
            .with_kind(kind, "up", &["--only", "good,slow,foreign"])
            .await
            .start()
            .await;
        let pipeline = Arc::clone(&rig.pipeline);
        let slow = tokio::spawn(async move {
            pipeline.call(crate::harness::call("tester", "up__slow", json!({}))).await
        });
        wait_until("the call to arrive", || rig.site.count_calls("up", "slow") == 1).await;
        let reply = rig.call("up__foreign", json!({})).await;
        assert_eq!(structured_content(&reply)["text"], "meant for this call", "{kind}");
        if kind.http {
            // Over HTTP, an answer in the response to another call is ignored.
            assert!(!slow.is_finished());
            slow.abort();
        } else {
            let reply = slow.await.unwrap();
            assert_eq!(reply_code(&reply), Some(ErrorCode::ContractViolation), "{kind}: {reply:?}");
            assert!(!format!("{reply:?}").contains("meant for another call"), "{reply:?}");
        }
        rig.close().await;
    }
}
