//! `--mcp-port`: the door for agents while a campaign runs. It is that of `vouch serve`, with the campaign pack behind it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use pack_campaign::Seat;
use runtime::Pipeline;
use runtime::doors::http::{HttpDoor, HttpError};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::campaign::plan::{Plan, our_place};
use crate::clients::url;
use crate::config::wrong_config;
use crate::config::{self, Aim, Campaign, Host, Layer, Pack};
use crate::context::AppContext;
use crate::failure::{Failure, Result};
use crate::project::{self, Project};
use crate::serving::cannot_listen;

/// A door that is bound and not open yet.
pub struct Agents {
    door: HttpDoor,
    pipeline: Arc<Pipeline>,
    seats: Vec<Arc<Seat>>,
}

/// An open door.
pub struct Serving {
    stop: CancellationToken,
    running: JoinHandle<std::result::Result<(), HttpError>>,
    pipeline: Arc<Pipeline>,
}

impl Agents {
    /// On loopback only: whoever reaches the port can steer the campaign.
    pub async fn open(app: &AppContext, plan: &Plan, port: u16) -> Result<Self> {
        let host = Host(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let layer = Layer::from_server(Some(host), Some(port), None);
        let layer = layer.with_packs(vec![Pack::Campaign]);
        let settings = config::load(&our_place(app), &app.environment, layer);
        let mut settings = settings.map_err(wrong_config)?;
        let aim = Aim { path: plan.path.clone(), contract: plan.contract.clone() };
        settings.campaign = Campaign { aims: vec![aim], corpus_dir: None };
        let Project { pipeline, seats, .. } = project::project(&settings).await?;
        let options = project::http_options(&settings)?;
        let door = HttpDoor::bind(Arc::clone(&pipeline), project::face(&settings), options).await;
        let door = door.map_err(|error| cannot_listen(error, "--mcp-port"))?;
        Ok(Self { door, pipeline, seats })
    }

    /// Returns the URL at which agents reach the campaign.
    pub fn url(&self) -> String {
        url(self.door.address())
    }

    /// The place of the campaign.
    pub fn seat(&self) -> Result<&Seat> {
        let first = self.seats.first().map(|seat| &**seat);
        first.ok_or_else(|| Failure::new("there is no place for the campaign"))
    }

    /// Serves until [`Serving::end`] is called.
    pub fn serve(self) -> Serving {
        let stop = CancellationToken::new();
        let running = tokio::spawn(self.door.serve(stop.clone()));
        Serving { stop, running, pipeline: self.pipeline }
    }
}

impl Serving {
    /// Answers the calls in flight, and closes.
    pub async fn end(self) -> Result {
        self.stop.cancel();
        let served = self.running.await;
        self.pipeline.drain().await;
        Ok(served??)
    }
}
