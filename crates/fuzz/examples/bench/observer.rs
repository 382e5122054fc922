//! Measures the cost of observing a campaign: alternates between observed and unobserved slices, and compares the calls
//! per second of processor time of the whole process, including the observer.

use std::fs;
use std::hint::black_box;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fuzz::campaign::{Campaign, CampaignOptions, CampaignState, EventSubscription};
use fuzz::config::CampaignSettings;
use fuzz::deploy::deploy_target;
use fuzz::generate::ValueDictionary;
use serde_json::{Value, json};

use super::{BenchSubject, Result};

/// Ten observations per second.
const LOOK: Duration = Duration::from_millis(100);
/// The worker publishes its count every few dozen milliseconds; slices begin and end when it does.
const POLL: Duration = Duration::from_millis(1);
const EVENTS: usize = 100;
const PAGE: usize = 20;

/// Progress of the campaign at a moment.
struct CampaignPoint {
    calls: u64,
    nanoseconds: u64,
}

pub(super) fn measure_observer(
    subject: &BenchSubject,
    slice_ms: u64,
    rounds: u64,
) -> Result<Value> {
    let slice = Duration::from_millis(slice_ms);
    let campaign = start_campaign(subject)?;
    let shared = campaign.shared().clone();
    // Early finds are frequent and expensive.
    run_for(&shared, slice * 2, None);
    let mut subscription = shared.events.subscribe();
    let mut ratios = Vec::new();
    for round in 0..rounds {
        // Alternate the order, so that drift affects both equally.
        let order = if round % 2 == 0 { [false, true] } else { [true, false] };
        let mut rates = [0.0; 2];
        for is_watched in order {
            let before = next_point(&shared)?;
            run_for(&shared, slice, is_watched.then_some(&mut subscription));
            let after = next_point(&shared)?;
            let seconds = (after.nanoseconds - before.nanoseconds) as f64 / 1e9;
            rates[usize::from(is_watched)] = (after.calls - before.calls) as f64 / seconds;
        }
        if campaign.is_finished() {
            return Err("the campaign ended while it was observed".into());
        }
        ratios.push(rates[1] / rates[0]);
    }
    shared.kill();
    let calls = campaign.wait().calls;
    Ok(json!({"ratios": ratios, "calls": calls, "corpus": shared.corpus_sequences()}))
}

fn start_campaign(subject: &BenchSubject) -> Result<Campaign> {
    let settings =
        CampaignSettings { test_limit: u64::MAX, seed: Some(1), ..CampaignSettings::default() };
    let target = Arc::new(deploy_target(subject.build.clone(), subject.contract, &settings)?);
    Ok(Campaign::start(CampaignOptions {
        dictionary: ValueDictionary::from_target(&target, &settings),
        target,
        settings: Arc::new(settings),
        workers: 1,
        corpus: Vec::new(),
        commands: Vec::new(),
        recorder: Box::new(()),
    })?)
}

fn run_for(shared: &CampaignState, time: Duration, mut watcher: Option<&mut EventSubscription>) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        if let Some(subscription) = &mut watcher {
            black_box(subscription.next_batch(Duration::ZERO));
            observe_once(shared);
        }
        sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
    }
}

/// Queries what an observer typically queries besides new events: recent events, coverage, and a page of the corpus.
fn observe_once(shared: &CampaignState) {
    black_box(shared.events.last_events(EVENTS));
    let hits = shared.hits();
    black_box(
        hits.iter().map(|hits| hits.blocks.iter().map(Vec::len).sum::<usize>()).sum::<usize>(),
    );
    let (page, _) = shared.corpus_page(shared.corpus_sequences().saturating_sub(PAGE), PAGE);
    let page: Vec<_> = page.iter().map(|entry| entry.calls.clone()).collect();
    black_box(page);
    black_box(shared.statistics());
}

/// Waits for the worker to publish its progress, and returns it.
fn next_point(shared: &CampaignState) -> Result<CampaignPoint> {
    let last = shared.calls();
    let limit = Instant::now() + Duration::from_secs(30);
    while shared.calls() == last {
        if Instant::now() > limit {
            return Err("the campaign makes no progress".into());
        }
        sleep(POLL);
    }
    Ok(CampaignPoint { calls: shared.calls(), nanoseconds: processor_time()? })
}

/// Returns the processor time of all threads as the scheduler counts it; the process counters tick only a hundred times
/// a second.
fn processor_time() -> Result<u64> {
    let mut sum = 0;
    for task in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(task?.path().join("schedstat"))?;
        let time = text.split_whitespace().next().ok_or("/proc has no times of threads")?;
        sum += time.parse::<u64>()?;
    }
    Ok(sum)
}
