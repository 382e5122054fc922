//! Asking upstreams without serving them: for commands that look, pin, or make one call.

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway::Gateway;
use runtime::{Catalog, Pipeline};

use super::{Lowered, check, lower};
use crate::config::{NotResolved, Settings};
use crate::context::AppContext;
use crate::failure::FailureKind;
use crate::failure::{Failure, Result};
use crate::project;

/// Upstreams that are looked at and not served.
pub struct Survey {
    pub gateway: Arc<Gateway>,
    /// Each upstream that could not be asked, with the reason.
    pub absent: Vec<(String, String)>,
    /// What those of them that are programs said last, by their names.
    pub last_words: BTreeMap<String, String>,
}

/// What is done with what is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It is looked at.
    Only,
    /// It is pinned, and what changed is pending: as a running gateway does it.
    AndPin,
}

/// Asks the enabled upstreams, or those that are named, for their tools. Nobody is left running.
pub async fn survey(
    app: &AppContext,
    settings: &Arc<Settings>,
    names: &[String],
    look: Look,
) -> Result<Survey> {
    let Lowered { options, unresolved } = lower(app, settings, names)?;
    let gateway =
        Gateway::new(options, Box::new(|| Ok(Catalog::default()))).map_err(project::wrong_files)?;
    match look {
        Look::Only => gateway.survey().await,
        Look::AndPin => gateway.pin().await,
    }
    let failed = gateway.upstreams().iter().filter(|upstream| upstream.view().failure.is_some());
    let last_words = failed.map(|one| (one.name().to_owned(), last_words(&one.link().stderr())));
    let last_words = last_words.filter(|(_, said)| !said.is_empty()).collect();
    gateway.close().await;
    let unresolved = unresolved.into_iter().map(|error| {
        let why = Failure::from(error);
        (
            why.find::<NotResolved>().map(|why| why.upstream.clone()).unwrap_or_default(),
            why.one_line(),
        )
    });
    let failed = gateway.upstreams().iter().filter_map(|upstream| {
        Some((upstream.name().to_owned(), upstream.view().failure.clone()?))
    });
    let absent = unresolved.chain(failed).collect();
    Ok(Survey { gateway, absent, last_words })
}

/// The end of what a program said, for a person to read.
pub fn last_words(said: &str) -> String {
    const LINES: usize = 12;
    const WIDTH: usize = 300;
    let lines: Vec<_> = said.lines().collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    let line = |line: &&str| format!("  {}", line.chars().take(WIDTH).collect::<String>());
    last.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The one upstream that a name in the catalog belongs to, asked and ready to be called. Nothing is pinned.
pub async fn of_tool(
    app: &AppContext,
    settings: &Arc<Settings>,
    name: &str,
) -> Result<(Arc<Gateway>, Arc<Pipeline>)> {
    let Some((upstream, tool)) = settings.upstream_of(name) else {
        return Err(Failure::new(format!("`{name}` is no tool of another server")));
    };
    let options = lower(app, settings, std::slice::from_ref(&upstream.name))?.complete()?;
    let (gateway, project) = project::with_upstreams(settings, options).await?;
    gateway.survey().await;
    gateway.publish(&project.pipeline);
    let view = gateway.upstreams().first().map(|one| one.view()).unwrap_or_default();
    let refused = match (&view.admission, &view.failure) {
        (None, why) => {
            let why = why.clone().unwrap_or_default();
            Some(Failure::new(format!("{} could not be asked: {why}", upstream.name)))
        }
        (Some(admission), _) => admission.tool(tool).filter(|tool| !tool.runs()).map(|judged| {
            let mut reasons = judged.reasons.iter().collect::<Vec<_>>();
            reasons.sort_by_key(|reason| reason.severity);
            let why = reasons.first().map(|reason| format!(": {}", reason.message));
            let state = judged.state.as_str();
            let failure = Failure::new(format!("`{name}` is {state}{}", why.unwrap_or_default()));
            let failure = reasons
                .iter()
                .take(1)
                .fold(failure, |failure, reason| failure.with_hint(&reason.remedy));
            failure.with_kind(FailureKind::Negative)
        }),
    };
    let fine = match refused {
        Some(failure) => Err(failure),
        None => check(app, settings, &gateway, &project.pipeline.catalog()),
    };
    match fine {
        Ok(()) => Ok((gateway, project.pipeline)),
        Err(failure) => {
            gateway.close().await;
            Err(failure)
        }
    }
}
