//! Integration tests of the pipeline and its transports, with scripted tools.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod approvals;
mod audit_first;
mod catalog_rules;
mod direct_calls;
mod direct_edges;
mod failing_store;
mod http;
mod http_limits;
mod http_reload;
mod http_tls;
mod identity;
mod intents;
mod live_catalog;
mod pipeline;
mod readiness;
mod resources;
mod rig;
mod rules;
mod sealed_states;
mod secret_bounds;
mod secret_output;
mod self_approval;
mod sessions;
mod stage_details;
mod stage_limits;
mod stdio;
mod subscriptions;
mod upstream_answers;
mod upstream_elicitation;
