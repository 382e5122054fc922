//! Serving the tools of other servers, which come and go while it runs.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use gateway::Gateway;
use runtime::doors::mcp::Face;
use runtime::{Catalog, Pipeline};
use tokio_util::sync::CancellationToken;

use super::{Welcome, doors};
use crate::config::Settings;
use crate::context::AppContext;
use crate::failure::{Failure, Result};
use crate::project::{self, Project};
use crate::upstreams;

/// How long servers are waited for before clients are let in; who comes later joins later.
const SETTLE: Duration = Duration::from_secs(3);
/// How often it is seen who came later.
const PACE: Duration = Duration::from_millis(500);

/// Serves the tools of the upstreams until `stop`. `banner` is called once it is up.
pub async fn serve_gateway(
    app: &AppContext,
    settings: &Arc<Settings>,
    stdio: bool,
    options: gateway::Options,
    banner: impl FnOnce(&Gateway, &Catalog, Option<SocketAddr>),
    stop: CancellationToken,
) -> Result {
    let (gateway, project) = project::with_upstreams(settings, options).await?;
    let Project { pipeline, context, .. } = &project;
    gateway.keep(pipeline);
    tokio::select! {
        () = stop.cancelled() => {}
        () = gateway.settle(SETTLE) => {}
    }
    gateway.publish(pipeline);
    let served = async {
        upstreams::check(app, settings, &gateway, &pipeline.catalog())?;
        let missing = upstreams::absent(settings, Some(&gateway));
        if let Some(pack) = context {
            pack.start();
        }
        let welcome = Welcome {
            face: face(&gateway, settings),
            port_flag: "vouch gateway --port",
            banner: |address| banner(&gateway, &pipeline.catalog(), address),
        };
        let mut served = pin!(doors(settings, stdio, pipeline, welcome, stop.clone()));
        tokio::select! {
            served = &mut served => served,
            wrong = latecomers(app, settings, &gateway, pipeline, missing) => {
                // Who is in the middle of a call gets an answer.
                stop.cancel();
                served.await.and(Err(wrong))
            }
        }
    };
    let served = served.await;
    pipeline.drain().await;
    gateway.close().await;
    served
}

/// Holds the configuration against servers that come after clients were let in. What would have stopped the start stops
/// it now: a rule that reads what no tool has would deny calls, or let them pass, and nobody would know why.
async fn latecomers(
    app: &AppContext,
    settings: &Settings,
    gateway: &Gateway,
    pipeline: &Pipeline,
    mut missing: Vec<&str>,
) -> Failure {
    while !missing.is_empty() {
        tokio::time::sleep(PACE).await;
        let still = upstreams::absent(settings, Some(gateway));
        if still == missing {
            continue;
        }
        missing = still;
        gateway.publish(pipeline);
        if let Err(wrong) = upstreams::check(app, settings, gateway, &pipeline.catalog()) {
            tracing::error!("{}; it stops here", wrong.one_line());
            return wrong;
        }
    }
    std::future::pending().await
}

/// What it says it is.
fn face(gateway: &Gateway, settings: &Settings) -> Face {
    let names: Vec<_> = gateway.upstreams().iter().map(|upstream| upstream.name()).collect();
    let separator = &settings.gateway.separator;
    let face = project::face(settings);
    Face {
        instructions: Some(format!(
            "Tools of several MCP servers ({}), each called <server>{separator}<tool>. Every call and every answer is \
             checked against the tool's contract; a refused call says which rule it broke and what to change. Some calls \
             wait for a person's approval.",
            names.join(", ")
        )),
        ..face
    }
}
