//! Serves the tools of one project.

use std::net::SocketAddr;

use runtime::Catalog;
use tokio_util::sync::CancellationToken;

use super::{ServeOptions, serve_transport};
use crate::audit_seal::seal_on_schedule;
use crate::campaign::server_campaigns::ServerCampaigns;
use crate::config::Settings;
use crate::context::AppContext;
use crate::failure::Result;
use crate::project::{self, AssembledProject};
use crate::upstreams;

/// Serves the tools of the project until `stop` is cancelled. `banner` is called once the server is up.
pub async fn serve_project(
    app: &AppContext,
    settings: &Settings,
    stdio: bool,
    banner: impl FnOnce(&Catalog, Option<SocketAddr>),
    stop: CancellationToken,
) -> Result {
    let AssembledProject { pipeline, context, slots: seats } =
        project::assemble_project(settings).await?;
    // Rules may concern tools of upstreams and of other packs, which are unknown here.
    if settings.upstreams.is_empty() && !settings.are_packs_chosen {
        upstreams::check_rules(app, settings, &pipeline.catalog(), &[])?;
    }
    let campaigns = ServerCampaigns::start(app, &settings.campaign, &seats)?;
    if let Some(pack) = &context {
        pack.start();
    }
    let welcome = ServeOptions {
        server_info: project::server_info(settings),
        port_flag: "vouch serve --port",
        banner: |address| banner(&pipeline.catalog(), address),
    };
    let sealing = CancellationToken::new();
    let serve = async {
        let served = serve_transport(settings, stdio, &pipeline, welcome, stop).await;
        campaigns.stop().await;
        pipeline.drain().await;
        sealing.cancel();
        served
    };
    tokio::join!(serve, seal_on_schedule(settings, sealing.clone())).0
}
