//! The type of an outcome says whether a gate stopped the ask or the planner or the servers failed.

use async_trait::async_trait;
use host::gate::allow::AllowError;
use host::{
    Allowlist, Breakdown, Desk, Discover, Gate, InputPolicy, Offer, Outcome, PlanError, Planner,
    StopReason, ask,
};
use serde_json::json;

use crate::world::{Discovery, Says, World, plan};

/// A planner that never returns a plan.
struct Unreachable;

#[async_trait]
impl Planner for Unreachable {
    async fn plan(&self, _: &str, _: &[Offer]) -> Result<String, PlanError> {
        Err(PlanError::Other("no model answers".into()))
    }
}

/// A planner that waits until the ask is cancelled.
struct Slow;

#[async_trait]
impl Planner for Slow {
    async fn plan(&self, _: &str, _: &[Offer]) -> Result<String, PlanError> {
        std::future::pending().await
    }
}

async fn outcome(discover: &dyn Discover, planner: &dyn Planner) -> Outcome {
    let world = World::new().await;
    let asked = ask("read note 1", &Desk::new(&world.pipeline, discover, planner)).await;
    assert_eq!(world.take_runs().len(), 0, "nothing is called");
    asked.outcome
}

#[tokio::test]
async fn planner_failure_is_a_breakdown() {
    let outcome = outcome(&Discovery::default(), &Unreachable).await;
    let Outcome::BrokeDown(breakdown) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(breakdown, Breakdown::Planner(PlanError::Other(_))));
    assert_eq!(breakdown.gate(), Gate::Plan);
    assert_eq!(breakdown.to_string(), "there is no plan: no model answers");
}

#[tokio::test]
async fn discovery_failure_is_a_breakdown() {
    let discovery = Discovery { fails: true, ..Discovery::default() };
    let outcome = outcome(&discovery, &Unreachable).await;
    let Outcome::BrokeDown(breakdown) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(breakdown, Breakdown::Discovery(_)));
    assert_eq!(breakdown.gate(), Gate::Resolve);
    assert_eq!(breakdown.to_string(), "there is no list of tools: no server answers");
}

#[tokio::test]
async fn invalid_plan_is_stopped_by_a_gate() {
    let outcome = outcome(&Discovery::default(), &Says::new("no plan at all")).await;
    let Outcome::Stopped(reason) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(reason, StopReason::Plan(_)));
    assert_eq!(reason.gate(), Gate::Plan);
}

#[tokio::test]
async fn unknown_tool_is_stopped_by_a_gate() {
    let planner = Says::new(plan("notes", "no_such_tool", &json!({})));
    let outcome = outcome(&Discovery::default(), &planner).await;
    let Outcome::Stopped(reason) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(reason, StopReason::Resolve(_)));
    assert_eq!(reason.gate(), Gate::Resolve);
}

#[tokio::test]
async fn barred_tool_is_stopped_by_a_gate() {
    let planner = Says::new(plan("notes", "delete_notes", &json!({"id": "1"})));
    let outcome = outcome(&Discovery::default(), &planner).await;
    let Outcome::Stopped(reason) = outcome else { panic!("{outcome:?}") };
    let StopReason::Allow(error) = &reason else { panic!("{reason:?}") };
    assert!(!matches!(error, AllowError::NoOutputSchema { .. }));
    assert_eq!(reason.gate(), Gate::Allow);
}

#[tokio::test]
async fn empty_allowlist_is_stopped_before_the_planner() {
    let outcome = outcome(&Allowlist::default(), &Unreachable).await;
    assert!(matches!(outcome, Outcome::Stopped(StopReason::NothingAllowed)), "{outcome:?}");
}

#[tokio::test]
async fn forbidden_query_is_stopped_by_a_gate() {
    let world = World::new().await;
    let discovery = Discovery::default();
    let mut desk = Desk::new(&world.pipeline, &discovery, &Unreachable);
    desk.policy = InputPolicy::new(&["secret".into()]).unwrap();
    let Outcome::Stopped(reason) = ask("a secret", &desk).await.outcome else {
        panic!("a gate must stop it")
    };
    assert!(matches!(reason, StopReason::Query(_)));
    assert_eq!(reason.gate(), Gate::Input);
}

#[tokio::test]
async fn cancelled_ask_is_not_a_breakdown() {
    let world = World::new().await;
    let discovery = Discovery::default();
    let desk = Desk::new(&world.pipeline, &discovery, &Slow);
    desk.cancel.cancel();
    let outcome = ask("read note 1", &desk).await.outcome;
    assert!(matches!(outcome, Outcome::Stopped(StopReason::Cancelled)), "{outcome:?}");
}
