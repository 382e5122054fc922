//! Serves the tools of upstreams, which may connect and disconnect while the gateway runs.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use gateway::Gateway;
use runtime::transports::mcp::ServerIdentity;
use runtime::{Catalog, Pipeline};
use tokio_util::sync::CancellationToken;

use super::{ServeOptions, serve_transport};
use crate::audit_seal::seal_on_schedule;
use crate::config::Settings;
use crate::context::AppContext;
use crate::failure::{Failure, Result};
use crate::project::{self, AssembledProject};
use crate::upstreams;

/// Maximum wait for upstreams before clients are accepted; later upstreams are added when they connect.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval between checks for late upstreams.
const LATE_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Serves the tools of the upstreams until `stop` is cancelled. `banner` is called once the server is up.
pub async fn serve_gateway(
    app: &AppContext,
    settings: &Arc<Settings>,
    stdio: bool,
    options: gateway::GatewayOptions,
    banner: impl FnOnce(&Gateway, &Catalog, Option<SocketAddr>),
    stop: CancellationToken,
) -> Result {
    let (gateway, project) = project::assemble_with_upstreams(settings, options).await?;
    let AssembledProject { pipeline, context, .. } = &project;
    gateway.keep_current(pipeline);
    tokio::select! {
        () = stop.cancelled() => {}
        () = gateway.wait_until_refreshed(SETTLE_TIMEOUT) => {}
    }
    gateway.publish_catalog(pipeline);
    let served = async {
        upstreams::check_against_tools(app, settings, &gateway, &pipeline.catalog())?;
        let missing = upstreams::list_absent_upstreams(settings, Some(&gateway));
        if let Some(pack) = context {
            pack.start();
        }
        let welcome = ServeOptions {
            server_info: gateway_server_info(&gateway, settings),
            port_flag: "vouch gateway --port",
            banner: |address| banner(&gateway, &pipeline.catalog(), address),
        };
        let mut served = pin!(serve_transport(settings, stdio, pipeline, welcome, stop.clone()));
        tokio::select! {
            served = &mut served => served,
            failure = check_late_upstreams(app, settings, &gateway, pipeline, missing) => {
                // Calls in flight are still answered.
                stop.cancel();
                served.await.and(Err(failure))
            }
        }
    };
    let sealing = CancellationToken::new();
    let serve = async {
        let served = served.await;
        pipeline.drain().await;
        sealing.cancel();
        gateway.close().await;
        served
    };
    tokio::join!(serve, seal_on_schedule(settings, sealing.clone())).0
}

/// Checks the configuration against upstreams that connect after the start, and returns the first failure.
///
/// An error that would have prevented the start stops the gateway now: a rule on a field that no tool has would
/// silently deny or allow calls. Never returns while the configuration is valid.
async fn check_late_upstreams(
    app: &AppContext,
    settings: &Settings,
    gateway: &Gateway,
    pipeline: &Pipeline,
    mut missing: Vec<&str>,
) -> Failure {
    while !missing.is_empty() {
        tokio::time::sleep(LATE_CHECK_INTERVAL).await;
        let still = upstreams::list_absent_upstreams(settings, Some(gateway));
        if still == missing {
            continue;
        }
        missing = still;
        gateway.publish_catalog(pipeline);
        if let Err(failure) =
            upstreams::check_against_tools(app, settings, gateway, &pipeline.catalog())
        {
            tracing::error!("stopping: {}", failure.to_one_line());
            return failure;
        }
    }
    std::future::pending().await
}

/// Returns the name, version and instructions that clients of the gateway see.
fn gateway_server_info(gateway: &Gateway, settings: &Settings) -> ServerIdentity {
    let names: Vec<_> = gateway.upstreams().iter().map(|upstream| upstream.name()).collect();
    let separator = &settings.gateway.separator;
    let face = project::server_info(settings);
    ServerIdentity {
        instructions: Some(format!(
            "Tools of several MCP servers ({}), each named <server>{separator}<tool>. Every call and every answer is \
             checked against the tool's contract; a rejected call states the violated rule and how to correct it. Some \
             calls wait for a person's approval.",
            names.join(", ")
        )),
        ..face
    }
}
