//! Campaigns that run behind `vouch serve`.
//!
//! Each is prepared on its own thread while the server already answers, and stops with the server.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ::fuzz::campaign::Campaign;
use ::fuzz::config::CampaignSettings;
use contract::text::one_line;
use pack_campaign::{CampaignSlot, HandleSource, assign_handles};

use super::PreparedCampaign;
use super::coverage_report::CampaignCoverage;
use super::fork::describe_fork;
use super::plan::{CampaignPlan, CampaignRequest};
use super::target::DeployedTarget;
use crate::config::{CampaignPackSettings as Served, CampaignTarget};
use crate::context::{AppContext, NoticeSink};
use crate::failure::{FailureExt, Result};

/// Time for shrinking failures when the server stops. The failing sequences are already on disk.
const SHRINK_GRACE: Duration = Duration::from_secs(2);
/// Time for workers to notice that the campaign was killed; a single call may run longer.
const KILL_GRACE: Duration = Duration::from_secs(2);
/// Interval between checks whether the workers have finished.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Creates the campaign slots. Without a target there is still one, so that its tools can be listed.
pub(crate) fn create_slots(served: &Served) -> Vec<Arc<CampaignSlot>> {
    let sources = served
        .targets
        .iter()
        .map(|aim| HandleSource { path: aim.path.as_deref(), contract: aim.contract.as_deref() });
    assign_handles(sources).into_iter().map(|handle| Arc::new(CampaignSlot::new(handle))).collect()
}

/// The campaigns of one server.
pub struct ServerCampaigns {
    notices: Arc<dyn NoticeSink>,
    threads: Vec<JoinHandle<Option<RunningServerCampaign>>>,
    is_stopping: Arc<AtomicBool>,
}

struct RunningServerCampaign {
    handle: String,
    plan: CampaignPlan,
    campaign: Campaign,
}

impl ServerCampaigns {
    /// Reads the settings and prepares each campaign on its slot in the background.
    pub fn start(app: &AppContext, served: &Served, seats: &[Arc<CampaignSlot>]) -> Result<Self> {
        let ending = Arc::new(AtomicBool::new(false));
        let plans: Vec<_> = (served.targets.iter().zip(seats))
            .map(|(aim, seat)| plan_campaign(app, served, aim, seat.handle()))
            .collect::<Result<_>>()?;
        let mut threads = Vec::new();
        for (plan, seat) in plans.into_iter().zip(seats) {
            let (seat, ending) = (Arc::clone(seat), Arc::clone(&ending));
            let notices = Arc::clone(&app.notices);
            let thread = thread::Builder::new().name("prepare".to_owned());
            let thread = thread.spawn(move || prepare_on_slot(&*notices, plan, &seat, &ending));
            threads.push(thread.explain("failed to start the campaign thread")?);
        }
        Ok(Self { notices: Arc::clone(&app.notices), threads, is_stopping: ending })
    }

    /// Stops the campaigns and writes their reports. A campaign that is still compiling is abandoned.
    pub async fn stop(self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        let done = self.threads.into_iter().filter(JoinHandle::is_finished);
        let all: Vec<RunningServerCampaign> =
            done.filter_map(|thread| thread.join().ok().flatten()).collect();
        for RunningServerCampaign { campaign, .. } in &all {
            campaign.shared().stop();
        }
        wait_until_finished(&all, SHRINK_GRACE).await;
        for RunningServerCampaign { campaign, .. } in &all {
            campaign.shared().kill();
        }
        wait_until_finished(&all, KILL_GRACE).await;
        for running in &all {
            running.write_reports(&*self.notices);
        }
    }
}

async fn wait_until_finished(all: &[RunningServerCampaign], limit: Duration) {
    let began = Instant::now();
    while !all.iter().all(|it| it.campaign.is_finished()) && began.elapsed() < limit {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

impl RunningServerCampaign {
    /// Writes the coverage reports and a summary. Corpus and reproducers are already on disk.
    fn write_reports(&self, notices: &dyn NoticeSink) {
        let Self { handle, plan, campaign } = self;
        let shared = campaign.shared();
        let written = CampaignCoverage::from_shared(shared)
            .write_reports(&plan.settings, &plan.coverage_excludes);
        for report in written.iter().flatten() {
            notices.note(format_args!("wrote {}", report.display()));
        }
        if let Err(failure) = written {
            notices.report(&failure);
        }
        plan.fork.save_record(&plan.settings, notices);
        if let Some(failure) = shared.fork_failure() {
            notices.warn(format_args!("{handle}: the state of the fork is unavailable: {failure}"));
        }
        if let Some(trouble) = shared.recorder_error() {
            notices.warn(format_args!("{handle}: failed to store some results: {trouble}"));
        }
        let failed: HashSet<_> = shared.failures().iter().map(|failure| failure.test).collect();
        let (calls, failed, tests) = (shared.calls(), failed.len(), shared.target.tests.len());
        notices
            .note(format_args!("{handle}: {failed} of {tests} tests failed within {calls} calls"));
    }
}

/// Plans a campaign like `vouch fuzz`, but without a test limit and with the cores divided among the campaigns.
fn plan_campaign(
    app: &AppContext,
    served: &Served,
    aim: &CampaignTarget,
    handle: &str,
) -> Result<CampaignPlan> {
    let CampaignTarget { path, contract } = aim.clone();
    let several = served.targets.len() > 1;
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = NonZeroUsize::new(cores / served.targets.len().max(1)).unwrap_or(NonZeroUsize::MIN);
    let base = CampaignSettings {
        test_limit: u64::MAX,
        workers: several.then_some(share),
        ..CampaignSettings::default()
    };
    let wanted = CampaignRequest { path, contract, ..CampaignRequest::default() };
    CampaignPlan::new(app, wanted, base, |settings| {
        if served.corpus_dir.is_some() {
            settings.corpus_dir.clone_from(&served.corpus_dir);
        }
        if several {
            // A corpus folder can be used by one campaign only.
            let own = |folder: &Path| folder.join(handle);
            settings.corpus_dir = settings.corpus_dir.as_deref().map(own);
            settings.coverage_dir = settings.coverage_dir.as_deref().map(own);
        }
        Ok(())
    })
}

/// Prepares and starts a campaign. A failure is reported and stored on the slot, where callers see it.
fn prepare_on_slot(
    notices: &dyn NoticeSink,
    mut plan: CampaignPlan,
    seat: &CampaignSlot,
    ending: &AtomicBool,
) -> Option<RunningServerCampaign> {
    match start_campaign(notices, &mut plan, seat, ending) {
        Ok(campaign) => campaign.map(|campaign| RunningServerCampaign {
            handle: seat.handle().to_owned(),
            plan,
            campaign,
        }),
        Err(failure) => {
            seat.set_failed(failure.to_one_line());
            notices.report(&failure);
            None
        }
    }
}

/// Returns the started campaign, or `None` if the server is stopping.
fn start_campaign(
    notices: &dyn NoticeSink,
    plan: &mut CampaignPlan,
    seat: &CampaignSlot,
    ending: &AtomicBool,
) -> Result<Option<Campaign>> {
    for warning in &plan.warnings {
        notices.warn(format_args!("{warning}"));
    }
    let subject = DeployedTarget::load(plan)?;
    for warning in &subject.target.warnings {
        notices.warn(format_args!("{warning}"));
    }
    if let Some(fork) = &plan.settings.forks.base {
        notices.note(format_args!("{}", describe_fork(fork.as_ref())));
    }
    let prepared = PreparedCampaign::new(notices, plan, &subject)?;
    if ending.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let campaign = prepared.start_on_slot(seat)?;
    let name = one_line(&subject.name);
    notices.note(format_args!("fuzzing {name} as `{}` with seed {}", seat.handle(), plan.seed));
    Ok(Some(campaign))
}
