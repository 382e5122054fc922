//! Serves the tools of one project.

use std::net::SocketAddr;
use std::sync::Arc;

use runtime::Catalog;
use runtime::transports::http::ReadinessCheck;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::readiness::ConfigurationCheck;
use super::reload::{ConfigReloader, warn_about_restart};
use super::{ServeOptions, ServerSignals, open_transport};
use crate::audit_seal::{SealPlan, seal_on_schedule};
use crate::campaign::server_campaigns::ServerCampaigns;
use crate::config::Settings;
use crate::failure::Result;
use crate::project::{self, AssembledProject};
use crate::upstreams;

/// Serves the tools of the project until it is told to stop. `banner` is called once the server is up.
pub async fn serve_project(
    reloader: ConfigReloader<'_>,
    settings: &Settings,
    stdio: bool,
    banner: impl FnOnce(&Catalog, Option<SocketAddr>),
    signals: ServerSignals,
) -> Result {
    let app = reloader.app;
    let project = project::assemble_project(settings).await?;
    let AssembledProject { pipeline, context, slots, .. } = &project;
    check_rules(&reloader, settings, &pipeline.catalog())?;
    let campaigns = ServerCampaigns::start(app, &settings.campaign, slots)?;
    if let Some(pack) = context {
        pack.start();
    }
    let welcome = ServeOptions {
        server_info: project::server_info(settings),
        port_flag: "vouch serve --port",
        banner: |address| banner(&pipeline.catalog(), address),
    };
    let configuration = Arc::<ConfigurationCheck>::default();
    let checks: [Arc<dyn ReadinessCheck>; 1] = [Arc::clone(&configuration) as _];
    let transport =
        open_transport(settings, stdio, pipeline, welcome, &checks, configuration).await?;
    let (seal_changes, seal_plans) = watch::channel(SealPlan::from_settings(settings));
    let served = transport.serve(signals, async |live| {
        let new = reloader.load()?;
        let (catalog, options) = project.build_parts(&new)?;
        check_rules(&reloader, &new, &catalog)?;
        live.apply(&new, options, &checks)?;
        pipeline.publish(catalog);
        warn_about_restart(settings, &new);
        seal_changes.send_replace(SealPlan::reload(settings, &new));
        Ok(())
    });
    let sealing = CancellationToken::new();
    let serve = async {
        let served = served.await;
        campaigns.stop().await;
        super::finish_calls(pipeline).await;
        sealing.cancel();
        served
    };
    let metrics = pipeline.metrics().seal().clone();
    tokio::join!(serve, seal_on_schedule(seal_plans, metrics, sealing.clone())).0
}

/// Checks the rules against the tools. Rules may concern tools of upstreams and of other packs, which are unknown here.
fn check_rules(reloader: &ConfigReloader<'_>, settings: &Settings, catalog: &Catalog) -> Result {
    match settings.upstreams.is_empty() && !settings.are_packs_chosen {
        true => upstreams::check_rules(reloader.app, settings, catalog, &[]),
        false => Ok(()),
    }
}
