//! The resources `campaign://…`: recent events and coverage, as JSON.
//!
//! ```text
//! campaign://events               the last 100 events, in the format of read_logs
//! campaign://coverage             coverage, in the format of show_coverage
//! campaign://<handle>/events      events of one campaign, if there are several
//! ```

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use contract::{
    CallContext, Constraints, ErrorCode, Resource, ResourceContent, ResourceProvider, ToolError,
};
use serde::Serialize;

use crate::slot::CampaignSlot;
use crate::text;
use crate::tools::{read_constraints, read_events, summarize_coverage};
use crate::view::CampaignView;

/// URI of the events, if there is one campaign.
pub const EVENTS_URI: &str = "campaign://events";

const JSON_MIME_TYPE: &str = "application/json";
/// Maximum number of events in the resource; read_logs returns all.
const MAX_EVENTS: usize = 100;

#[derive(Clone, Copy)]
enum CampaignResourceKind {
    Events,
    Coverage,
}

pub(crate) struct CampaignResources {
    slots: Arc<[Arc<CampaignSlot>]>,
}

impl CampaignResourceKind {
    const ALL: [Self; 2] = [Self::Events, Self::Coverage];

    fn path_segment(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Coverage => "coverage",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Events => {
                "The last 100 events of the campaign, newest first, in the format of read_logs. Subscribe to be \
                 notified of new events."
            }
            Self::Coverage => {
                "Line and branch coverage of each smart contract, in the format of show_coverage. Subscribe to be \
                 notified when coverage grows."
            }
        }
    }
}

impl CampaignResources {
    pub(crate) fn new(slots: Arc<[Arc<CampaignSlot>]>) -> Self {
        Self { slots }
    }

    fn iter_resources(
        &self,
    ) -> impl Iterator<Item = (&CampaignSlot, CampaignResourceKind, String)> {
        let is_only = self.slots.len() == 1;
        self.slots.iter().flat_map(move |slot| {
            CampaignResourceKind::ALL.map(|kind| {
                let uri = match is_only {
                    true => format!("campaign://{}", kind.path_segment()),
                    false => format!("campaign://{}/{}", slot.handle(), kind.path_segment()),
                };
                (&**slot, kind, uri)
            })
        })
    }

    fn find_resource(&self, uri: &str) -> Option<(&CampaignSlot, CampaignResourceKind)> {
        let mut all = self.iter_resources();
        all.find(|(_, _, known)| known == uri).map(|(slot, kind, _)| (slot, kind))
    }
}

impl ResourceProvider for CampaignResources {
    fn list_resources(&self) -> Vec<Resource> {
        let is_only = self.slots.len() == 1;
        let resource =
            |(slot, kind, uri): (&CampaignSlot, CampaignResourceKind, String)| Resource {
                uri,
                name: match is_only {
                    true => kind.path_segment().to_owned(),
                    false => format!("{}-{}", slot.handle(), kind.path_segment()),
                },
                title: Some(format!("Campaign {}", kind.path_segment())),
                description: kind.description().to_owned(),
                mime_type: JSON_MIME_TYPE.to_owned(),
            };
        self.iter_resources().map(resource).collect()
    }

    fn constraints(&self) -> Constraints {
        read_constraints()
    }

    fn read_resource(&self, uri: &str, _: &CallContext) -> Result<ResourceContent, ToolError> {
        let (slot, kind) = self.find_resource(uri).ok_or_else(|| self.unknown_uri_error(uri))?;
        let campaign = slot.campaign_view()?;
        let body = match kind {
            CampaignResourceKind::Events => {
                to_json_text(&read_events(&campaign, MAX_EVENTS, |_| true))?
            }
            CampaignResourceKind::Coverage => {
                to_json_text(&summarize_coverage(&campaign.coverage.current_snapshot().report))?
            }
        };
        Ok(ResourceContent::from_text(uri, JSON_MIME_TYPE, body))
    }

    fn has_revisions(&self) -> bool {
        true
    }

    fn resource_revision(&self, uri: &str) -> Option<u64> {
        let (slot, kind) = self.find_resource(uri)?;
        // Version 0 means not started, so that clients that subscribed earlier are notified of the start.
        let Ok(campaign) = slot.campaign_view() else { return Some(0) };
        Some(match kind {
            CampaignResourceKind::Events => newest_event_version(&campaign),
            CampaignResourceKind::Coverage => campaign.coverage.version(),
        })
    }
}

impl CampaignResources {
    fn unknown_uri_error(&self, uri: &str) -> ToolError {
        let known: Vec<String> = self.iter_resources().map(|(_, _, uri)| uri).collect();
        let known = text::list_names(known.iter().map(String::as_str));
        let message =
            format!("unknown resource `{}`; known resources: {known}", guard::display_path(uri));
        ToolError::new(ErrorCode::NotFound, message)
    }
}

/// Returns a version that differs for each newest event.
fn newest_event_version(campaign: &CampaignView) -> u64 {
    let mut hasher = DefaultHasher::new();
    for event in campaign.shared.events.last_events(1) {
        (event.time, event.worker).hash(&mut hasher);
    }
    hasher.finish()
}

fn to_json_text(value: &impl Serialize) -> Result<String, ToolError> {
    serde_json::to_string(value).map_err(|_| {
        ToolError::new(ErrorCode::InternalError, "failed to serialize the resource as JSON")
    })
}
