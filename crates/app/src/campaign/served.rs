//! Campaigns behind a server: each is prepared on a thread of its own while the server is there already, and ends with it.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ::fuzz::campaign::Campaign;
use ::fuzz::config::Settings;
use contract::text::one_line;
use pack_campaign::{HandleSource, Seat, assign_handles};

use super::Prepared;
use super::cover::Cover;
use super::plan::{Plan, Wanted};
use super::subject::Subject;
use crate::config::{Aim, Campaign as Served};
use crate::context::{AppContext, NoticeSink};
use crate::failure::{Explain, Result};

/// How long failures may still be made small when the server ends. What broke a test is on disk before that.
const GRACE: Duration = Duration::from_secs(2);
/// How long workers may take to notice that all is over; a single call may run for longer.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Between two looks whether workers have ended.
const TICK: Duration = Duration::from_millis(20);

/// The places of the campaigns. Where nothing is named there is one all the same, so that its tools can be looked at.
pub(crate) fn seats(served: &Served) -> Vec<Arc<Seat>> {
    let sources = served
        .aims
        .iter()
        .map(|aim| HandleSource { path: aim.path.as_deref(), contract: aim.contract.as_deref() });
    assign_handles(sources).into_iter().map(|handle| Arc::new(Seat::new(handle))).collect()
}

/// Those of one server.
pub struct Campaigns {
    notices: Arc<dyn NoticeSink>,
    threads: Vec<JoinHandle<Option<Running>>>,
    ending: Arc<AtomicBool>,
}

struct Running {
    handle: String,
    plan: Plan,
    campaign: Campaign,
}

impl Campaigns {
    /// Reads the settings, and prepares each campaign on its seat in the background.
    pub fn begin(app: &AppContext, served: &Served, seats: &[Arc<Seat>]) -> Result<Self> {
        let ending = Arc::new(AtomicBool::new(false));
        let plans: Vec<_> = (served.aims.iter().zip(seats))
            .map(|(aim, seat)| plan(app, served, aim, seat.handle()))
            .collect::<Result<_>>()?;
        let mut threads = Vec::new();
        for (plan, seat) in plans.into_iter().zip(seats) {
            let (seat, ending) = (Arc::clone(seat), Arc::clone(&ending));
            let notices = Arc::clone(&app.notices);
            let thread = thread::Builder::new().name("prepare".to_owned());
            let thread = thread.spawn(move || prepare(&*notices, plan, &seat, &ending));
            threads.push(thread.explain("cannot start a thread for the campaign")?);
        }
        Ok(Self { notices: Arc::clone(&app.notices), threads, ending })
    }

    /// Ends them, with what they found on disk. What is still being compiled is left.
    pub async fn end(self) {
        self.ending.store(true, Ordering::Relaxed);
        let done = self.threads.into_iter().filter(JoinHandle::is_finished);
        let all: Vec<Running> = done.filter_map(|thread| thread.join().ok().flatten()).collect();
        for Running { campaign, .. } in &all {
            campaign.shared().stop();
        }
        wait(&all, GRACE).await;
        for Running { campaign, .. } in &all {
            campaign.shared().kill();
        }
        wait(&all, LAST_WORDS).await;
        for running in &all {
            running.save(&*self.notices);
        }
    }
}

async fn wait(all: &[Running], limit: Duration) {
    let began = Instant::now();
    while !all.iter().all(|it| it.campaign.is_finished()) && began.elapsed() < limit {
        tokio::time::sleep(TICK).await;
    }
}

impl Running {
    /// Corpus and reproducers were kept as they were found; this is the rest.
    fn save(&self, notices: &dyn NoticeSink) {
        let Self { handle, plan, campaign } = self;
        let shared = campaign.shared();
        let written = Cover::of(shared).write(&plan.settings, &plan.coverage_excludes);
        for report in written.iter().flatten() {
            notices.note(format_args!("wrote {}", report.display()));
        }
        if let Err(failure) = written {
            notices.report(&failure);
        }
        if let Some(trouble) = shared.trouble() {
            notices.warn(format_args!("{handle}: not all that was found could be kept: {trouble}"));
        }
        let failed: HashSet<_> = shared.failures().iter().map(|failure| failure.test).collect();
        let (calls, failed, tests) = (shared.calls(), failed.len(), shared.target.tests.len());
        notices
            .note(format_args!("{handle}: {failed} of {tests} tests failed within {calls} calls"));
    }
}

/// As `vouch fuzz` reads it, but without an end, and with the cores shared out.
fn plan(app: &AppContext, served: &Served, aim: &Aim, handle: &str) -> Result<Plan> {
    let Aim { path, contract } = aim.clone();
    let several = served.aims.len() > 1;
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = NonZeroUsize::new(cores / served.aims.len().max(1)).unwrap_or(NonZeroUsize::MIN);
    let base =
        Settings { test_limit: u64::MAX, workers: several.then_some(share), ..Settings::default() };
    let wanted = Wanted { path, contract, solc: None };
    Plan::new(app, wanted, base, |settings| {
        if served.corpus_dir.is_some() {
            settings.corpus_dir.clone_from(&served.corpus_dir);
        }
        if several {
            // A folder has one user.
            let own = |folder: &Path| folder.join(handle);
            settings.corpus_dir = settings.corpus_dir.as_deref().map(own);
            settings.coverage_dir = settings.coverage_dir.as_deref().map(own);
        }
        Ok(())
    })
}

/// On its own thread. Whoever asks for the campaign is told why there is none.
fn prepare(
    notices: &dyn NoticeSink,
    plan: Plan,
    seat: &Seat,
    ending: &AtomicBool,
) -> Option<Running> {
    match begin(notices, &plan, seat, ending) {
        Ok(campaign) => {
            campaign.map(|campaign| Running { handle: seat.handle().to_owned(), plan, campaign })
        }
        Err(failure) => {
            seat.prepare_failed(failure.one_line());
            notices.report(&failure);
            None
        }
    }
}

fn begin(
    notices: &dyn NoticeSink,
    plan: &Plan,
    seat: &Seat,
    ending: &AtomicBool,
) -> Result<Option<Campaign>> {
    for warning in &plan.warnings {
        notices.warn(format_args!("{warning}"));
    }
    let subject = Subject::load(plan)?;
    for warning in &subject.target.warnings {
        notices.warn(format_args!("{warning}"));
    }
    let prepared = Prepared::new(notices, plan, &subject)?;
    if ending.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let campaign = prepared.start_on(seat)?;
    let name = one_line(&subject.name);
    notices.note(format_args!("fuzzing {name} as `{}` with seed {}", seat.handle(), plan.seed));
    Ok(Some(campaign))
}
