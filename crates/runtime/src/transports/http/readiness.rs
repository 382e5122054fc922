//! `/healthz` and `/readyz`: whether the server is alive, and whether it can do its work.
//!
//! Both need no token, so they say which kind of part fails, but not its name, place or error. The results are kept for a
//! moment, so that a flood of requests causes no flood of checks.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::HttpApp;
use crate::pipeline::Pipeline;

/// Time for which results are reused.
const REUSE_TIME: Duration = Duration::from_secs(1);
/// Maximum time of one check. A check that takes longer has failed.
const CHECK_LIMIT: Duration = Duration::from_secs(2);

/// The result of a readiness check. The word is shown to anyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckResult {
    Ok,
    /// Something needs the attention of an operator, but calls can be served.
    Degraded(&'static str),
    Failed(&'static str),
}

/// A condition that must hold before calls can be served.
#[async_trait]
pub trait ReadinessCheck: Send + Sync {
    /// Returns the kind of part that is checked, such as `disk`.
    fn name(&self) -> &'static str;

    /// Checks the part. It may take time, and is stopped at a limit.
    async fn check(&self) -> CheckResult;
}

/// The checks of a server, and their last results.
#[derive(Default)]
pub(super) struct Readiness {
    last: Mutex<Option<ReadinessReport>>,
}

#[derive(Clone)]
struct ReadinessReport {
    time: Instant,
    results: Vec<(&'static str, CheckResult)>,
}

impl Readiness {
    /// Updates the metrics of the checks.
    pub(super) async fn refresh_metrics(&self, app: &HttpApp) {
        self.report(app).await;
    }

    /// Returns the results, from a moment ago or new. Concurrent requests share one run.
    async fn report(&self, app: &HttpApp) -> ReadinessReport {
        let mut last = self.last.lock().await;
        if let Some(report) = last.as_ref().filter(|report| report.time.elapsed() < REUSE_TIME) {
            return report.clone();
        }
        let options = app.options();
        let others = options.readiness.iter().map(|check| run_check(check.name(), check.check()));
        // At once, so that together they take no longer than one of them may.
        let (audit, store, others) = tokio::join!(
            run_check("audit", check_audit(&app.pipeline)),
            run_check("store", check_store(&app.pipeline)),
            futures::future::join_all(others),
        );
        let results: Vec<_> = [audit, store].into_iter().chain(others).collect();
        let metrics = app.pipeline.metrics().server();
        for (name, result) in &results {
            metrics.set_readiness(name, *result == CheckResult::Ok);
        }
        let report = ReadinessReport { time: Instant::now(), results };
        *last = Some(report.clone());
        report
    }
}

async fn run_check(
    name: &'static str,
    check: impl Future<Output = CheckResult>,
) -> (&'static str, CheckResult) {
    let result = tokio::time::timeout(CHECK_LIMIT, check).await;
    (name, result.unwrap_or(CheckResult::Failed("no answer")))
}

async fn check_audit(pipeline: &Pipeline) -> CheckResult {
    if pipeline.is_audit_writable().await {
        CheckResult::Ok
    } else {
        CheckResult::Failed("not writable")
    }
}

async fn check_store(pipeline: &Pipeline) -> CheckResult {
    if pipeline.is_store_available().await {
        CheckResult::Ok
    } else {
        CheckResult::Failed("failing")
    }
}

/// Answers 200 if every check passes or is only degraded, else 503.
pub(super) async fn get_readiness(State(app): State<Arc<HttpApp>>) -> Response {
    let report = app.readiness.report(&app).await;
    let is_ready =
        !report.results.iter().any(|(_, result)| matches!(result, CheckResult::Failed(_)));
    let words = report.results.into_iter().map(|(name, result)| {
        let word = match result {
            CheckResult::Ok => "ok",
            CheckResult::Degraded(word) | CheckResult::Failed(word) => word,
        };
        (name.to_owned(), Value::from(word))
    });
    let checks: Map<_, _> = words.collect();
    let (status, word) = match is_ready {
        true => (StatusCode::OK, "ready"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "not ready"),
    };
    (status, Json(json!({"status": word, "checks": checks}))).into_response()
}

/// Answers 200 while the server can answer at all.
pub(super) async fn get_health(State(app): State<Arc<HttpApp>>) -> Response {
    let tools = app.pipeline.catalog().names().count();
    Json(json!({"status": "ok", "version": app.identity.version, "tools": tools})).into_response()
}
