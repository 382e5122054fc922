//! Tests of `/healthz` and `/readyz`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use runtime::transports::http::{BearerTokens, CheckResult, ReadinessCheck};

use crate::http::{HttpServer, fetch_summary};

const TOKEN: &str = "0123456789abcdef";

struct ScriptedCheck {
    result: CheckResult,
    runs: AtomicUsize,
}

#[async_trait]
impl ReadinessCheck for ScriptedCheck {
    fn name(&self) -> &'static str {
        "disk"
    }

    async fn check(&self) -> CheckResult {
        self.runs.fetch_add(1, Ordering::Relaxed);
        match self.result {
            CheckResult::Failed("hangs") => std::future::pending().await,
            result => result,
        }
    }
}

async fn server_with(result: CheckResult) -> (HttpServer, Arc<ScriptedCheck>) {
    let check = Arc::new(ScriptedCheck { result, runs: AtomicUsize::new(0) });
    let added = Arc::clone(&check);
    let server = HttpServer::with_options(|options| {
        options.tokens = BearerTokens::parse(&format!("ci {TOKEN}")).unwrap();
        options.readiness.push(added);
    })
    .await;
    (server, check)
}

#[tokio::test]
async fn readiness_needs_no_token_and_reports_each_check() {
    let mut log = Vec::new();
    for result in [CheckResult::Ok, CheckResult::Degraded("old"), CheckResult::Failed("full")] {
        let (server, _) = server_with(result).await;
        log.push(fetch_summary(server.get("/readyz")).await);
        assert!(fetch_summary(server.get("/healthz")).await.starts_with("200"));
        let is_ok = u8::from(result == CheckResult::Ok);
        assert!(server.metrics().contains(&format!("vouch_ready{{check=\"disk\"}} {is_ok}")));
    }
    insta::assert_snapshot!(log.join("\n"));
}

/// A collector that never asks `/readyz` sees the truth too.
#[tokio::test]
async fn metrics_contain_the_results_of_the_checks() {
    for result in [CheckResult::Ok, CheckResult::Failed("full")] {
        let (server, check) = server_with(result).await;
        let text = server.get("/metrics").bearer_auth(TOKEN).send().await.unwrap();
        let text = text.text().await.unwrap();
        let is_ok = u8::from(result == CheckResult::Ok);
        assert!(text.contains(&format!("vouch_ready{{check=\"disk\"}} {is_ok}")), "{text}");
        assert!(text.contains("vouch_ready{check=\"audit\"} 1"), "{text}");
        assert_eq!(check.runs.load(Ordering::Relaxed), 1);
        // A request without a token does not run the checks.
        assert_eq!(server.get("/metrics").send().await.unwrap().status(), 401);
    }
}

/// The audit log has a record of each call, and its failures are counted.
#[tokio::test]
async fn metrics_describe_the_audit_log() {
    let (server, _) = server_with(CheckResult::Ok).await;
    let text = server.metrics();
    for metric in [
        "vouch_audit_records_total 0",
        "vouch_audit_failures_total 0",
        "vouch_audit_lost_records_total 0",
        "vouch_audit_pending_records 0",
        "vouch_audit_sealed_seq 0",
        "vouch_audit_sealed_timestamp_seconds 0",
        "vouch_audit_undelivered_checkpoints 0",
        "vouch_audit_seal_failures_total 0",
    ] {
        assert!(text.lines().any(|line| line == metric), "{metric} is not in {text}");
    }
}

#[tokio::test]
async fn check_that_hangs_has_failed() {
    let (server, _) = server_with(CheckResult::Failed("hangs")).await;
    let answer = fetch_summary(server.get("/readyz"));
    let answer = tokio::time::timeout(std::time::Duration::from_secs(60), answer).await;
    assert_eq!(
        answer.unwrap(),
        r#"503 {"status":"not ready","checks":{"audit":"ok","store":"ok","disk":"no answer"}}"#
    );
}

#[tokio::test]
async fn flood_of_requests_causes_few_checks() {
    let (server, check) = server_with(CheckResult::Ok).await;
    let started = tokio::time::Instant::now();
    let requests = (0..200).map(|_| server.get("/readyz").send());
    for reply in futures::future::join_all(requests).await {
        assert_eq!(reply.unwrap().status(), 200);
    }
    // At most one run for each second, however slow this machine is.
    let most = usize::try_from(started.elapsed().as_secs()).unwrap() + 2;
    assert!(check.runs.load(Ordering::Relaxed) <= most);
}
