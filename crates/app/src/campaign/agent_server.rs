//! The MCP server of `vouch fuzz --mcp-port`: lets agents watch and steer a running campaign.
//!
//! It uses the HTTP transport of `vouch serve`, with only the campaign pack behind it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use pack_campaign::CampaignSlot;
use runtime::Pipeline;
use runtime::transports::http::{HttpError, HttpTransport};
use store::ProjectToken;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::campaign::plan::{CampaignPlan, vouch_location};
use crate::clients::local_url;
use crate::config::{CampaignPackSettings, CampaignTarget, ConfigLayer, ListenHost, ToolPack};
use crate::context::AppContext;
use crate::failure::{Failure, Result};
use crate::project::{self, AssembledProject};
use crate::serving::listen_failure;

/// An MCP server that is bound to its port and does not serve yet.
pub struct AgentServer {
    transport: HttpTransport,
    pipeline: Arc<Pipeline>,
    slots: Vec<Arc<CampaignSlot>>,
    /// True unless `--no-token` was given.
    pub needs_token: bool,
    /// The token of the project, if it was created now.
    pub new_token: Option<ProjectToken>,
}

/// An MCP server that is serving.
pub struct RunningAgentServer {
    stop: CancellationToken,
    task: JoinHandle<std::result::Result<(), HttpError>>,
    pipeline: Arc<Pipeline>,
}

impl AgentServer {
    /// Binds the server to loopback only: callers with the token can steer the campaign.
    pub async fn bind(
        app: &AppContext,
        plan: &CampaignPlan,
        port: u16,
        no_token: bool,
    ) -> Result<Self> {
        let host = ListenHost(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let layer = ConfigLayer::from_server_flags(Some(host), Some(port), None);
        let layer = layer.with_packs(vec![ToolPack::Campaign]).without_token(no_token);
        let mut settings = app.settings_at(&vouch_location(app), layer)?;
        let aim = CampaignTarget { path: plan.path.clone(), contract: plan.contract.clone() };
        settings.campaign = CampaignPackSettings { targets: vec![aim], corpus_dir: None };
        let AssembledProject { pipeline, slots: seats, .. } =
            project::assemble_project(&settings).await?;
        let new_token = project::create_missing_token(&settings)?;
        let options = project::http_options(&settings)?;
        let door =
            HttpTransport::bind(Arc::clone(&pipeline), project::server_info(&settings), options)
                .await;
        let door = door.map_err(|error| listen_failure(error, "--mcp-port"))?;
        let needs_token = settings.server.token.is_some();
        Ok(Self { transport: door, pipeline, slots: seats, needs_token, new_token })
    }

    /// Returns the URL at which agents reach the campaign.
    pub fn url(&self) -> String {
        local_url(self.transport.address())
    }

    /// Returns the campaign slot.
    pub fn slot(&self) -> Result<&CampaignSlot> {
        let first = self.slots.first().map(|seat| &**seat);
        first.ok_or_else(|| Failure::new("no campaign slot"))
    }

    /// Serves until [`RunningAgentServer::shutdown`] is called.
    pub fn serve(self) -> RunningAgentServer {
        let stop = CancellationToken::new();
        let running = tokio::spawn(self.transport.serve(stop.clone()));
        RunningAgentServer { stop, task: running, pipeline: self.pipeline }
    }
}

impl RunningAgentServer {
    /// Finishes the calls in flight and closes the server.
    pub async fn shutdown(self) -> Result {
        self.stop.cancel();
        let served = self.task.await;
        self.pipeline.drain().await;
        Ok(served??)
    }
}
