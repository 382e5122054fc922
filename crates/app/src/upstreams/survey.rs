//! Connects to upstreams without serving them, for commands that list tools, pin them, or make one call.

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway::Gateway;
use runtime::{Catalog, Pipeline};

use super::{ResolvedUpstreams, check_against_tools, resolve_upstreams};
use crate::config::{Settings, UnresolvedSecretError};
use crate::context::AppContext;
use crate::failure::FailureKind;
use crate::failure::{Failure, Result};
use crate::project;

/// The result of asking upstreams for their tools.
pub struct UpstreamSurvey {
    pub gateway: Arc<Gateway>,
    /// Upstreams that could not be reached, with the reason.
    pub absent: Vec<(String, String)>,
    /// Last stderr lines of failed programs, by upstream name.
    pub stderr_tails: BTreeMap<String, String>,
}

/// The mode of a survey: list the tools only, or pin them too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurveyMode {
    /// Lists the tools only.
    Inspect,
    /// Pins new tools and marks changes as pending, like a running gateway.
    Pin,
}

/// Asks the enabled upstreams, or the named ones, for their tools. All of them are closed afterwards.
pub async fn survey_upstreams(
    app: &AppContext,
    settings: &Arc<Settings>,
    names: &[String],
    look: SurveyMode,
) -> Result<UpstreamSurvey> {
    let ResolvedUpstreams { options, unresolved } = resolve_upstreams(app, settings, names)?;
    let gateway = Gateway::new(options, Box::new(|| Ok(Catalog::default())))
        .map_err(project::gateway_failure)?;
    match look {
        SurveyMode::Inspect => gateway.inspect_upstreams().await,
        SurveyMode::Pin => gateway.pin_upstreams().await,
    }
    let failed =
        gateway.upstreams().iter().filter(|upstream| upstream.snapshot().failure.is_some());
    let last_words = failed
        .map(|one| (one.name().to_owned(), format_stderr_tail(&one.connection().stderr_tail())));
    let last_words = last_words.filter(|(_, tail)| !tail.is_empty()).collect();
    gateway.close().await;
    let unresolved = unresolved.into_iter().map(|error| {
        let why = Failure::from(error);
        (
            why.find_cause::<UnresolvedSecretError>()
                .map(|why| why.upstream.clone())
                .unwrap_or_default(),
            why.to_one_line(),
        )
    });
    let failed = gateway.upstreams().iter().filter_map(|upstream| {
        Some((upstream.name().to_owned(), upstream.snapshot().failure.clone()?))
    });
    let absent = unresolved.chain(failed).collect();
    Ok(UpstreamSurvey { gateway, absent, stderr_tails: last_words })
}

/// Returns the last lines of a program's stderr, indented and cut to a readable width.
pub fn format_stderr_tail(stderr: &str) -> String {
    const LINES: usize = 12;
    const WIDTH: usize = 300;
    let lines: Vec<_> = stderr.lines().collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    let line = |line: &&str| format!("  {}", line.chars().take(WIDTH).collect::<String>());
    last.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Connects to the upstream of a tool in the catalog, and returns a pipeline that can call it. Pins nothing.
pub async fn connect_tool_upstream(
    app: &AppContext,
    settings: &Arc<Settings>,
    name: &str,
) -> Result<(Arc<Gateway>, Arc<Pipeline>)> {
    let Some((upstream, tool)) = settings.upstream_of(name) else {
        return Err(Failure::new(format!("`{name}` is not a tool of an upstream")));
    };
    let options =
        resolve_upstreams(app, settings, std::slice::from_ref(&upstream.name))?.require_all()?;
    let (gateway, project) = project::assemble_with_upstreams(settings, options).await?;
    gateway.inspect_upstreams().await;
    gateway.publish_catalog(&project.pipeline);
    let view = gateway.upstreams().first().map(|one| one.snapshot()).unwrap_or_default();
    let refused = match (&view.admission, &view.failure) {
        (None, why) => {
            let why = why.clone().unwrap_or_default();
            Some(Failure::new(format!("failed to reach upstream `{}`: {why}", upstream.name)))
        }
        (Some(admission), _) => {
            admission.find_tool(tool).filter(|tool| !tool.can_run()).map(|judged| {
                let mut reasons = judged.reasons.iter().collect::<Vec<_>>();
                reasons.sort_by_key(|reason| reason.severity);
                let why = reasons.first().map(|reason| format!(": {}", reason.message));
                let state = judged.state.as_str();
                let failure =
                    Failure::new(format!("`{name}` is {state}{}", why.unwrap_or_default()));
                let failure = reasons
                    .iter()
                    .take(1)
                    .fold(failure, |failure, reason| failure.with_hint(&reason.remedy));
                failure.with_kind(FailureKind::Negative)
            })
        }
    };
    let fine = match refused {
        Some(failure) => Err(failure),
        None => check_against_tools(app, settings, &gateway, &project.pipeline.catalog()),
    };
    match fine {
        Ok(()) => Ok((gateway, project.pipeline)),
        Err(failure) => {
            gateway.close().await;
            Err(failure)
        }
    }
}
