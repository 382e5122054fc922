//! The outcome distinguishes a stop by a gate from a failure of the planner or of the servers.

use async_trait::async_trait;
use host::gate::allow::AllowError;
use host::{
    AskContext, AskGate, AskOutcome, EffectiveAllowlist, InputPolicy, LiveToolSource, Planner,
    PlannerError, PlanningFailure, StopReason, ToolOffer, answer_query,
};
use serde_json::json;

use crate::fixtures::{CountingDiscovery, ScriptedModel, TestHost, plan};

/// A planner that never returns a plan.
struct UnreachablePlanner;

#[async_trait]
impl Planner for UnreachablePlanner {
    async fn plan(&self, _: &str, _: &[ToolOffer]) -> Result<String, PlannerError> {
        Err(PlannerError::Other("no model responds".into()))
    }
}

/// A planner that waits until the ask is cancelled.
struct SlowPlanner;

#[async_trait]
impl Planner for SlowPlanner {
    async fn plan(&self, _: &str, _: &[ToolOffer]) -> Result<String, PlannerError> {
        std::future::pending().await
    }
}

async fn outcome(discover: &dyn LiveToolSource, planner: &dyn Planner) -> AskOutcome {
    let world = TestHost::new().await;
    let asked =
        answer_query("read note 1", &AskContext::new(&world.pipeline, discover, planner)).await;
    assert_eq!(world.take_runs().len(), 0, "no tool is called");
    asked.outcome
}

#[tokio::test]
async fn planner_failure_is_a_planning_failure() {
    let outcome = outcome(&CountingDiscovery::default(), &UnreachablePlanner).await;
    let AskOutcome::PlanningFailed(failure) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(failure, PlanningFailure::Planner(PlannerError::Other(_))));
    assert_eq!(failure.gate(), AskGate::Plan);
    assert_eq!(failure.to_string(), "failed to get a plan: no model responds");
}

#[tokio::test]
async fn discovery_failure_is_a_planning_failure() {
    let discovery = CountingDiscovery { fails: true, ..CountingDiscovery::default() };
    let outcome = outcome(&discovery, &UnreachablePlanner).await;
    let AskOutcome::PlanningFailed(failure) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(failure, PlanningFailure::Discovery(_)));
    assert_eq!(failure.gate(), AskGate::Resolve);
    assert_eq!(failure.to_string(), "failed to list tools: no server responds");
}

#[tokio::test]
async fn invalid_plan_is_stopped_by_a_gate() {
    let outcome =
        outcome(&CountingDiscovery::default(), &ScriptedModel::new("no plan at all")).await;
    let AskOutcome::Stopped(reason) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(reason, StopReason::Plan(_)));
    assert_eq!(reason.gate(), AskGate::Plan);
}

#[tokio::test]
async fn unknown_tool_is_stopped_by_a_gate() {
    let planner = ScriptedModel::new(plan("notes", "no_such_tool", &json!({})));
    let outcome = outcome(&CountingDiscovery::default(), &planner).await;
    let AskOutcome::Stopped(reason) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(reason, StopReason::Resolve(_)));
    assert_eq!(reason.gate(), AskGate::Resolve);
}

#[tokio::test]
async fn barred_tool_is_stopped_by_a_gate() {
    let planner = ScriptedModel::new(plan("notes", "delete_notes", &json!({"id": "1"})));
    let outcome = outcome(&CountingDiscovery::default(), &planner).await;
    let AskOutcome::Stopped(reason) = outcome else { panic!("{outcome:?}") };
    let StopReason::Allow(error) = &reason else { panic!("{reason:?}") };
    assert!(!matches!(error, AllowError::NoOutputSchema { .. }));
    assert_eq!(reason.gate(), AskGate::Allow);
}

#[tokio::test]
async fn empty_allowlist_is_stopped_before_the_planner() {
    let outcome = outcome(&EffectiveAllowlist::default(), &UnreachablePlanner).await;
    assert!(matches!(outcome, AskOutcome::Stopped(StopReason::NothingAllowed)), "{outcome:?}");
}

#[tokio::test]
async fn forbidden_query_is_stopped_by_a_gate() {
    let world = TestHost::new().await;
    let discovery = CountingDiscovery::default();
    let mut desk = AskContext::new(&world.pipeline, &discovery, &UnreachablePlanner);
    desk.policy = InputPolicy::new(&["secret".into()]).unwrap();
    let AskOutcome::Stopped(reason) = answer_query("a secret", &desk).await.outcome else {
        panic!("a gate must stop it")
    };
    assert!(matches!(reason, StopReason::Query(_)));
    assert_eq!(reason.gate(), AskGate::Input);
}

#[tokio::test]
async fn cancelled_ask_is_not_a_planning_failure() {
    let world = TestHost::new().await;
    let discovery = CountingDiscovery::default();
    let desk = AskContext::new(&world.pipeline, &discovery, &SlowPlanner);
    desk.cancel.cancel();
    let outcome = answer_query("read note 1", &desk).await.outcome;
    assert!(matches!(outcome, AskOutcome::Stopped(StopReason::Cancelled)), "{outcome:?}");
}
