//! Serving the tools of one project.

use std::net::SocketAddr;

use runtime::Catalog;
use tokio_util::sync::CancellationToken;

use super::{Welcome, doors};
use crate::campaign::served::Campaigns;
use crate::config::Settings;
use crate::context::AppContext;
use crate::failure::Result;
use crate::project::{self, Project};
use crate::upstreams;

/// Serves the tools of the project until `stop`. `banner` is called once it is up.
pub async fn serve_project(
    app: &AppContext,
    settings: &Settings,
    stdio: bool,
    banner: impl FnOnce(&Catalog, Option<SocketAddr>),
    stop: CancellationToken,
) -> Result {
    let Project { pipeline, context, seats } = project::project(settings).await?;
    // Rules may be about tools of other servers and of other packs, which are not here to tell.
    if settings.upstreams.is_empty() && !settings.are_packs_chosen {
        upstreams::rules(app, settings, &pipeline.catalog(), &[])?;
    }
    let campaigns = Campaigns::begin(app, &settings.campaign, &seats)?;
    if let Some(pack) = &context {
        pack.start();
    }
    let welcome = Welcome {
        face: project::face(settings),
        port_flag: "vouch serve --port",
        banner: |address| banner(&pipeline.catalog(), address),
    };
    let served = doors(settings, stdio, &pipeline, welcome, stop).await;
    campaigns.end().await;
    pipeline.drain().await;
    served
}
