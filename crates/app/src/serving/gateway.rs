//! Serves the tools of upstreams, which may connect and disconnect while the gateway runs.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use gateway::Gateway;
use parking_lot::RwLock;
use runtime::transports::http::ReadinessCheck;
use runtime::transports::mcp::ServerIdentity;
use runtime::{Catalog, Pipeline};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::readiness::{ConfigurationCheck, UpstreamCheck};
use super::reload::{ConfigReloader, warn_about_restart};
use super::{ServeOptions, ServerSignals, open_transport};
use crate::audit_seal::{SealPlan, seal_on_schedule};
use crate::config::Settings;
use crate::context::AppContext;
use crate::failure::{Failure, Result};
use crate::project::{self, AssembledProject};
use crate::upstreams;

/// Maximum wait for upstreams before clients are accepted; later upstreams are added when they connect.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time to stop the upstreams.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);
/// Interval between checks for late upstreams.
const LATE_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// The gateway that serves now, with its settings.
struct CurrentGateway {
    settings: Arc<Settings>,
    gateway: Arc<Gateway>,
}

/// Serves the tools of the upstreams until it is told to stop. `banner` is called once the server is up.
pub async fn serve_gateway(
    reloader: ConfigReloader<'_>,
    settings: &Arc<Settings>,
    stdio: bool,
    options: gateway::GatewayOptions,
    banner: impl FnOnce(&Gateway, &Catalog, Option<SocketAddr>),
    signals: ServerSignals,
) -> Result {
    let (app, samples) = (reloader.app, options.samples.clone());
    let (gateway, project) = project::assemble_with_upstreams(settings, options).await?;
    let AssembledProject { pipeline, context, .. } = &project;
    gateway.keep_current(pipeline);
    tokio::select! {
        () = signals.stop.cancelled() => {}
        () = gateway.wait_until_refreshed(SETTLE_TIMEOUT) => {}
    }
    gateway.publish_catalog(pipeline);
    let current = Arc::new(RwLock::new((Arc::clone(&gateway), required_upstreams(settings))));
    let (changes, mut changed) = watch::channel(CurrentGateway {
        settings: Arc::clone(settings),
        gateway: Arc::clone(&gateway),
    });
    let (seal_changes, seal_plans) = watch::channel(SealPlan::from_settings(settings));
    let served = async {
        upstreams::check_against_tools(app, settings, &gateway, &pipeline.catalog())?;
        if let Some(pack) = context {
            pack.start();
        }
        let welcome = ServeOptions {
            server_info: gateway_server_info(&gateway, settings),
            port_flag: "vouch gateway --port",
            banner: |address| banner(&gateway, &pipeline.catalog(), address),
        };
        let configuration = Arc::<ConfigurationCheck>::default();
        let checks: [Arc<dyn ReadinessCheck>; 2] = [
            Arc::new(UpstreamCheck { serving: Arc::clone(&current) }),
            Arc::clone(&configuration) as _,
        ];
        let transport =
            open_transport(settings, stdio, pipeline, welcome, &checks, configuration).await?;
        let stop = signals.stop.clone();
        let mut served = pin!(transport.serve(signals, async |live| {
            let before = Arc::clone(&changes.borrow().gateway);
            let new = Arc::new(reloader.load()?);
            let gateway = succeed_gateway(app, &new, &project, &before, samples.clone()).await?;
            let (_, options) = project.build_parts(&new)?;
            let options = project::complete_gateway_options(&new, options)?;
            live.apply(&new, options, &checks)?;
            gateway.publish_catalog(pipeline);
            gateway.keep_current(pipeline);
            *current.write() = (Arc::clone(&gateway), required_upstreams(&new));
            warn_about_restart(settings, &new);
            seal_changes.send_replace(SealPlan::reload(settings, &new));
            changes.send_replace(CurrentGateway { settings: new, gateway });
            before.retire().await;
            Ok(())
        }));
        tokio::select! {
            served = &mut served => served,
            failure = check_late_upstreams(app, pipeline, &mut changed) => {
                // Calls in flight are still answered.
                stop.cancel();
                served.await.and(Err(failure))
            }
        }
    };
    let sealing = CancellationToken::new();
    let serve = async {
        let served = served.await;
        super::finish_calls(pipeline).await;
        sealing.cancel();
        let gateway = Arc::clone(&changes.borrow().gateway);
        let _ = tokio::time::timeout(CLOSE_LIMIT, gateway.close()).await;
        served
    };
    let metrics = pipeline.metrics().seal().clone();
    tokio::join!(serve, seal_on_schedule(seal_plans, metrics, sealing.clone())).0
}

/// Creates the gateway for new settings and lists the tools of its upstreams. An error leaves the previous one as it is.
async fn succeed_gateway(
    app: &AppContext,
    settings: &Arc<Settings>,
    project: &AssembledProject,
    before: &Gateway,
    samples: Option<PathBuf>,
) -> Result<Arc<Gateway>> {
    let mut options = upstreams::resolve_upstreams(app, settings, &[])?.require_all()?;
    options.samples = samples;
    let base = project.catalog_builder(settings);
    let gateway = before.succeed(options, base).map_err(project::gateway_failure)?;
    let _ = tokio::time::timeout(SETTLE_TIMEOUT, gateway.pin_upstreams()).await;
    let (catalog, _) = gateway.build_catalog()?;
    upstreams::check_against_tools(app, settings, &gateway, &catalog)?;
    Ok(gateway)
}

fn required_upstreams(settings: &Settings) -> Vec<String> {
    let required = settings.upstreams.iter().filter(|one| one.enabled && one.required);
    required.map(|one| one.name.clone()).collect()
}

/// Checks the configuration against upstreams that connect after the start, and returns the first failure.
///
/// An error that would have prevented the start stops the gateway now: a rule on a field that no tool has would
/// silently deny or allow calls. Never returns while the configuration is valid.
async fn check_late_upstreams(
    app: &AppContext,
    pipeline: &Pipeline,
    current: &mut watch::Receiver<CurrentGateway>,
) -> Failure {
    loop {
        let (settings, gateway) = {
            let current = current.borrow_and_update();
            (Arc::clone(&current.settings), Arc::clone(&current.gateway))
        };
        tokio::select! {
            failure = check_late_upstreams_of(app, &settings, &gateway, pipeline) => return failure,
            changed = current.changed() => if changed.is_err() { std::future::pending().await },
        }
    }
}

async fn check_late_upstreams_of(
    app: &AppContext,
    settings: &Settings,
    gateway: &Gateway,
    pipeline: &Pipeline,
) -> Failure {
    let mut missing = upstreams::list_absent_upstreams(settings, Some(gateway));
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
