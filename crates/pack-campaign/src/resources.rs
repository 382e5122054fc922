//! The documents `campaign://…`: what happened last, and what is covered, as JSON.
//!
//! ```text
//! campaign://events               the last hundred events, as read_logs answers them
//! campaign://coverage             as show_coverage answers it
//! campaign://<handle>/events      the same of one campaign, where there are several
//! ```

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use contract::{CallContext, Code, Constraints, Resource, ResourceContent, Resources, ToolError};
use serde::Serialize;

use crate::running::Running;
use crate::seat::Seat;
use crate::text;
use crate::tools::{coverage_shown, last_events, reads};

/// The address of the events, where there is one campaign.
pub const EVENTS: &str = "campaign://events";

const JSON: &str = "application/json";
/// Events that the document has; read_logs has all.
const MAX_EVENTS: usize = 100;

#[derive(Clone, Copy)]
enum Kind {
    Events,
    Coverage,
}

pub(crate) struct Documents {
    seats: Arc<[Arc<Seat>]>,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Events, Self::Coverage];

    fn word(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Coverage => "coverage",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Events => {
                "The last 100 events of the campaign, newest first, as read_logs answers them. Subscribe to be told when \
                 something happens."
            }
            Self::Coverage => {
                "Line and branch coverage of each contract, as show_coverage answers it. Subscribe to be told when it \
                 grows."
            }
        }
    }
}

impl Documents {
    pub(crate) fn new(seats: Arc<[Arc<Seat>]>) -> Self {
        Self { seats }
    }

    fn all(&self) -> impl Iterator<Item = (&Seat, Kind, String)> {
        let is_only = self.seats.len() == 1;
        self.seats.iter().flat_map(move |seat| {
            Kind::ALL.map(|kind| {
                let uri = match is_only {
                    true => format!("campaign://{}", kind.word()),
                    false => format!("campaign://{}/{}", seat.handle(), kind.word()),
                };
                (&**seat, kind, uri)
            })
        })
    }

    fn find(&self, uri: &str) -> Option<(&Seat, Kind)> {
        let mut all = self.all();
        all.find(|(_, _, known)| known == uri).map(|(seat, kind, _)| (seat, kind))
    }
}

impl Resources for Documents {
    fn list(&self) -> Vec<Resource> {
        let is_only = self.seats.len() == 1;
        let resource = |(seat, kind, uri): (&Seat, Kind, String)| Resource {
            uri,
            name: match is_only {
                true => kind.word().to_owned(),
                false => format!("{}-{}", seat.handle(), kind.word()),
            },
            title: Some(format!("Campaign {}", kind.word())),
            description: kind.description().to_owned(),
            mime_type: JSON.to_owned(),
        };
        self.all().map(resource).collect()
    }

    fn constraints(&self) -> Constraints {
        reads()
    }

    fn read(&self, uri: &str, _: &CallContext) -> Result<ResourceContent, ToolError> {
        let (seat, kind) = self.find(uri).ok_or_else(|| self.unknown(uri))?;
        let running = seat.running()?;
        let body = match kind {
            Kind::Events => written(&last_events(&running, MAX_EVENTS, |_| true))?,
            Kind::Coverage => written(&coverage_shown(&running.cover.now().report))?,
        };
        Ok(ResourceContent::text(uri, JSON, body))
    }

    fn has_changes(&self) -> bool {
        true
    }

    fn changes(&self, uri: &str) -> Option<u64> {
        let (seat, kind) = self.find(uri)?;
        // Not there yet is a version of its own, so that who watches from before the beginning is told of it.
        let Ok(running) = seat.running() else { return Some(0) };
        Some(match kind {
            Kind::Events => newest(&running),
            Kind::Coverage => running.cover.version(),
        })
    }
}

impl Documents {
    fn unknown(&self, uri: &str) -> ToolError {
        let known: Vec<String> = self.all().map(|(_, _, uri)| uri).collect();
        let known = text::names(known.iter().map(String::as_str));
        let message = format!("there is no document `{}`; there are {known}", guard::shown(uri));
        ToolError::new(Code::NotFound, message)
    }
}

/// Another number for each newest event.
fn newest(running: &Running) -> u64 {
    let mut hasher = DefaultHasher::new();
    for event in running.shared.events.last(1) {
        (event.time, event.worker).hash(&mut hasher);
    }
    hasher.finish()
}

fn written(value: &impl Serialize) -> Result<String, ToolError> {
    serde_json::to_string(value).map_err(|_| {
        ToolError::new(Code::InternalError, "the document could not be written as JSON")
    })
}
