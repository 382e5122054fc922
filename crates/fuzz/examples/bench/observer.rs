//! What it costs that somebody looks: one campaign, watched and not watched in turn, and the calls that it makes for each
//! second of processor time of the whole process, the watcher's own included.

use std::fs;
use std::hint::black_box;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fuzz::campaign::{Campaign, Shared, Start, Subscription};
use fuzz::config::Settings;
use fuzz::deploy::deploy;
use fuzz::generate::Dictionary;
use serde_json::{Value, json};

use super::{Result, Subject};

/// Ten looks a second.
const LOOK: Duration = Duration::from_millis(100);
/// The worker publishes its count every few dozen milliseconds; slices begin and end when it does.
const POLL: Duration = Duration::from_millis(1);
const EVENTS: usize = 100;
const PAGE: usize = 20;

/// Where the campaign was at a moment.
struct Point {
    calls: u64,
    nanoseconds: u64,
}

pub(super) fn run(subject: &Subject, slice_ms: u64, rounds: u64) -> Result<Value> {
    let slice = Duration::from_millis(slice_ms);
    let campaign = start(subject)?;
    let shared = campaign.shared().clone();
    // The first finds come quickly and are dear.
    let_run(&shared, slice * 2, None);
    let mut subscription = shared.events.subscribe();
    let mut ratios = Vec::new();
    for round in 0..rounds {
        // Whatever drifts, drifts against both.
        let order = if round % 2 == 0 { [false, true] } else { [true, false] };
        let mut rates = [0.0; 2];
        for is_watched in order {
            let before = point(&shared)?;
            let_run(&shared, slice, is_watched.then_some(&mut subscription));
            let after = point(&shared)?;
            let seconds = (after.nanoseconds - before.nanoseconds) as f64 / 1e9;
            rates[usize::from(is_watched)] = (after.calls - before.calls) as f64 / seconds;
        }
        if campaign.is_finished() {
            return Err("the campaign ended while it was watched".into());
        }
        ratios.push(rates[1] / rates[0]);
    }
    shared.kill();
    let calls = campaign.wait().calls;
    Ok(json!({"ratios": ratios, "calls": calls, "corpus": shared.corpus_size()}))
}

fn start(subject: &Subject) -> Result<Campaign> {
    let settings = Settings { test_limit: u64::MAX, seed: Some(1), ..Settings::default() };
    let target = Arc::new(deploy(subject.build.clone(), subject.contract, &settings)?);
    Ok(Campaign::start(Start {
        dictionary: Dictionary::of(&target, &settings),
        target,
        settings: Arc::new(settings),
        workers: 1,
        corpus: Vec::new(),
        commands: Vec::new(),
        recorder: Box::new(()),
    })?)
}

fn let_run(shared: &Shared, time: Duration, mut watcher: Option<&mut Subscription>) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        if let Some(subscription) = &mut watcher {
            black_box(subscription.next(Duration::ZERO));
            look(shared);
        }
        sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
    }
}

/// What somebody asks who follows a campaign, beside what happens: the last events, what is covered, and a page of the corpus.
fn look(shared: &Shared) {
    black_box(shared.events.last(EVENTS));
    let hits = shared.hits();
    black_box(
        hits.iter().map(|hits| hits.blocks.iter().map(Vec::len).sum::<usize>()).sum::<usize>(),
    );
    let (page, _) = shared.corpus_page(shared.corpus_size().saturating_sub(PAGE), PAGE);
    let page: Vec<_> = page.iter().map(|entry| entry.calls.clone()).collect();
    black_box(page);
    black_box(shared.statistics());
}

/// The next moment at which the worker tells how far it is.
fn point(shared: &Shared) -> Result<Point> {
    let last = shared.calls();
    let limit = Instant::now() + Duration::from_secs(30);
    while shared.calls() == last {
        if Instant::now() > limit {
            return Err("the campaign stands still".into());
        }
        sleep(POLL);
    }
    Ok(Point { calls: shared.calls(), nanoseconds: processor_time()? })
}

/// Of all threads together, as the scheduler counts it; the counters of the process itself tick only a hundred times a
/// second.
fn processor_time() -> Result<u64> {
    let mut sum = 0;
    for task in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(task?.path().join("schedstat"))?;
        let time = text.split_whitespace().next().ok_or("/proc has no times of threads")?;
        sum += time.parse::<u64>()?;
    }
    Ok(sum)
}
