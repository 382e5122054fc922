//! Sealing on a schedule, with a clock that stands still until every task waits.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use app::audit_seal::{AuditSealer, SealPlan, seal_on_schedule};
use app::config::SealTarget;
use jiff::{Timestamp, ToSpan};
use runtime::SealMetrics;
use store::audit::{
    AuditCall, AuditKeyLocation, AuditLog, AuditOptions, AuditOutcome, AuditRotation,
    CheckpointEvidence, CheckpointQueue, CheckpointSigner, SignedCheckpoint, VerifiedLog,
    read_checkpoints, verify_checkpoints,
};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

const MINUTE: Duration = Duration::from_secs(60);
/// Maximum time of the last checkpoint when a server ends.
const STOP_TIMEOUT: Duration = Duration::from_millis(1500);

/// A log, its keys, and a folder for checkpoints.
struct Scene {
    temp: TempDir,
    log: PathBuf,
    keys: AuditKeyLocation,
}

impl Scene {
    fn new() -> Self {
        let temp = TempDir::new().unwrap();
        let (log, keys) = (temp.path().join("audit.jsonl"), temp.path().join("keys"));
        let scene = Self { temp, log, keys: AuditKeyLocation::new(keys) };
        scene.append(1);
        scene
    }

    fn target(&self, name: &str) -> SealTarget {
        SealTarget::parse(name, self.temp.path()).unwrap()
    }

    /// Appends calls and closes the log. A file of the log has some 1500 bytes.
    fn append(&self, count: u64) {
        let rotation = AuditRotation { max_file_bytes: 1500, ..AuditRotation::default() };
        let options = AuditOptions { rotation, ..AuditOptions::new(self.keys.clone()) };
        let log = self.log.clone();
        // Another thread blocks this one, so the clock stands still meanwhile.
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let log = AuditLog::open(log, &options).unwrap();
            for _ in 0..count {
                runtime.block_on(log.append_durable(call_record())).unwrap();
            }
        };
        std::thread::spawn(work).join().unwrap();
    }

    fn sealer(&self, targets: &[&str]) -> AuditSealer {
        let targets = targets.iter().map(|name| self.target(name)).collect();
        AuditSealer::new(self.log.clone(), self.keys.clone(), targets)
    }

    fn plan(&self, targets: &[&str], every: Duration) -> SealPlan {
        SealPlan { sealer: self.sealer(targets), every, every_bytes: None }
    }

    /// Returns the checkpoints in a file; none if it does not exist.
    fn delivered(&self, name: &str) -> Vec<SignedCheckpoint> {
        let path = self.temp.path().join(name);
        if path.exists() { read_checkpoints(&path).unwrap() } else { vec![] }
    }

    fn count(&self, name: &str) -> usize {
        self.delivered(name).len()
    }

    /// Returns the number of checkpoints that a target has not got.
    fn waiting(&self, target: &str) -> usize {
        let queue = CheckpointQueue::new(&self.keys, &disk::SystemDisk);
        queue.list_undelivered(&self.target(target).to_string()).unwrap().len()
    }

    /// Errors unless the checkpoints in a file prove the whole log.
    fn check_proof(&self, name: &str) {
        let mut logs = [VerifiedLog::verify(&self.log, &self.keys).unwrap()];
        let signer = CheckpointSigner::open(&self.keys, None).unwrap().unwrap();
        let (checkpoints, key) = (&*self.delivered(name), &signer.public_key());
        let (rotation, now) = (&AuditRotation::default(), Timestamp::now());
        let evidence = CheckpointEvidence { checkpoints, key, rotation, now };
        verify_checkpoints(&mut logs, &evidence).unwrap();
        let [VerifiedLog { report, .. }] = logs;
        assert!(report.ok, "{:?}", report.problems);
        assert_eq!(report.checkpoints.unwrap().proven_through, report.last_seq);
    }

    /// Moves the last checkpoint into the past.
    fn age_last_checkpoint(&self, minutes: i64) {
        let path = self.keys.folder().join("last-checkpoint.json");
        let text = std::fs::read_to_string(&path).unwrap();
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        value["checkpoint"]["time"] = (Timestamp::now() - minutes.minutes()).to_string().into();
        std::fs::write(&path, format!("{value}\n")).unwrap();
    }
}

fn call_record() -> AuditCall {
    AuditCall {
        time: Timestamp::now(),
        caller: "alice".into(),
        client: None,
        tool: Some("hello".into()),
        contract: None,
        arguments: None,
        approval: None,
        outcome: AuditOutcome::Ok,
        code: None,
        duration_us: 1,
        result_bytes: 2,
        trace: None,
        secrets: None,
        call: None,
    }
}

/// A schedule that runs.
struct RunningSchedule {
    plans: watch::Sender<SealPlan>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl RunningSchedule {
    fn start(plan: SealPlan) -> Self {
        let (plans, receiver) = watch::channel(plan);
        let stop = CancellationToken::new();
        let work = seal_on_schedule(receiver, SealMetrics::default(), stop.clone());
        Self { plans, task: tokio::spawn(work), stop }
    }

    /// Stops the schedule and returns the time that it took.
    async fn stop(self) -> Duration {
        let start = Instant::now();
        self.stop.cancel();
        self.task.await.unwrap();
        start.elapsed()
    }
}

/// Returns the URL of an endpoint that accepts connections and never answers.
fn hanging_endpoint() -> (std::net::TcpListener, String) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/in", listener.local_addr().unwrap());
    (listener, url)
}

#[tokio::test(start_paused = true)]
async fn log_is_sealed_at_the_interval_and_at_the_end() {
    let scene = Scene::new();
    let running = RunningSchedule::start(scene.plan(&["a.jsonl"], 60 * MINUTE));
    sleep(59 * MINUTE).await;
    assert_eq!(scene.count("a.jsonl"), 0);
    sleep(2 * MINUTE).await;
    assert_eq!(scene.count("a.jsonl"), 1);
    sleep(58 * MINUTE).await;
    assert_eq!(scene.count("a.jsonl"), 1);
    sleep(2 * MINUTE).await;
    assert_eq!(scene.count("a.jsonl"), 2);
    scene.append(3);
    running.stop().await;
    assert_eq!(scene.count("a.jsonl"), 3);
    scene.check_proof("a.jsonl");
}

/// The lines are in several files, and each file is smaller than the limit.
#[tokio::test(start_paused = true)]
async fn log_is_sealed_after_a_number_of_bytes() {
    let scene = Scene::new();
    let plan = scene.plan(&["a.jsonl"], 24 * 60 * MINUTE);
    let running = RunningSchedule::start(SealPlan { every_bytes: Some(4000), ..plan });
    let size_of = |path: &Path| path.metadata().unwrap().len();
    scene.append(2);
    sleep(MINUTE).await;
    assert!(size_of(&scene.log) < 4000);
    assert_eq!(scene.count("a.jsonl"), 0);
    for expected in 1..=2 {
        scene.append(20);
        assert!(size_of(&scene.log) < 4000, "the last file alone is not enough");
        sleep(MINUTE).await;
        assert_eq!(scene.count("a.jsonl"), expected);
        // Nothing more was written.
        sleep(60 * MINUTE).await;
        assert_eq!(scene.count("a.jsonl"), expected);
    }
    running.stop().await;
}

/// A server that is often restarted keeps the interval.
#[tokio::test(start_paused = true)]
async fn interval_continues_after_a_restart() {
    for (age, early, late) in [(30, 29, 31), (600, 0, 1)] {
        let scene = Scene::new();
        scene.sealer(&["a.jsonl"]).create_checkpoint().unwrap();
        scene.age_last_checkpoint(age);
        let running = RunningSchedule::start(scene.plan(&["a.jsonl"], 60 * MINUTE));
        if early > 0 {
            sleep(early * MINUTE).await;
            assert_eq!(scene.count("a.jsonl"), 1, "only what waited is delivered");
        }
        sleep((late - early) * MINUTE).await;
        assert_eq!(scene.count("a.jsonl"), 2);
        running.stop().await;
    }
}

/// One target is missing for two checkpoints, and the server is restarted meanwhile.
#[tokio::test(start_paused = true)]
async fn missed_checkpoints_are_delivered_in_order_once_the_target_is_back() {
    let scene = Scene::new();
    let missing = "missing/a.jsonl";
    let plan = scene.plan(&[missing, "b.jsonl"], 60 * MINUTE);
    let running = RunningSchedule::start(plan.clone());
    sleep(61 * MINUTE).await;
    assert_eq!((scene.count(missing), scene.count("b.jsonl")), (0, 1));
    scene.append(1);
    running.stop().await;
    assert_eq!((scene.waiting(missing), scene.waiting("b.jsonl")), (2, 0));
    let running = RunningSchedule::start(plan);
    sleep(MINUTE).await;
    std::fs::create_dir(scene.temp.path().join("missing")).unwrap();
    sleep(2 * MINUTE).await;
    assert_eq!((scene.waiting(missing), scene.waiting("b.jsonl")), (0, 0));
    let text = std::fs::read_to_string(scene.temp.path().join(missing)).unwrap();
    assert_eq!(text, std::fs::read_to_string(scene.temp.path().join("b.jsonl")).unwrap());
    scene.check_proof(missing);
    running.stop().await;
    scene.check_proof(missing);
}

#[tokio::test(start_paused = true)]
async fn hanging_endpoint_delays_neither_other_targets_nor_the_end() {
    let scene = Scene::new();
    let (_listener, url) = hanging_endpoint();
    let plan = scene.plan(&[&url, "a.jsonl"], 60 * MINUTE);
    let running = RunningSchedule::start(plan.clone());
    sleep(MINUTE).await;
    assert!(running.stop().await <= STOP_TIMEOUT);
    assert_eq!((scene.count("a.jsonl"), scene.waiting(&url)), (1, 1));
    scene.check_proof("a.jsonl");
    // The end comes while a delivery waits for its answer.
    let running = RunningSchedule::start(plan);
    sleep(60 * MINUTE + Duration::from_secs(3)).await;
    assert_eq!(scene.count("a.jsonl"), 2);
    assert!(running.stop().await <= STOP_TIMEOUT);
    assert_eq!((scene.count("a.jsonl"), scene.waiting(&url)), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn changed_plan_is_used_at_once() {
    let scene = Scene::new();
    let running = RunningSchedule::start(scene.plan(&[], 60 * MINUTE));
    sleep(600 * MINUTE).await;
    assert!(!scene.keys.folder().join("seal-key.json").exists(), "nothing is sealed");
    running.plans.send_replace(scene.plan(&["a.jsonl"], 60 * MINUTE));
    sleep(MINUTE).await;
    assert_eq!(scene.count("a.jsonl"), 1);
    running.plans.send_replace(scene.plan(&["a.jsonl", "b.jsonl"], 5 * MINUTE));
    sleep(5 * MINUTE).await;
    assert_eq!(scene.count("a.jsonl"), 2);
    scene.check_proof("b.jsonl");
    running.plans.send_replace(scene.plan(&[], 5 * MINUTE));
    sleep(60 * MINUTE).await;
    assert_eq!(scene.count("a.jsonl"), 2);
    running.stop().await;
    assert_eq!(scene.count("a.jsonl"), 2);
}

/// Another log that is missing does not keep this one from being sealed.
#[tokio::test(start_paused = true)]
async fn other_logs_are_sealed_if_they_can_be_read() {
    let (scene, other) = (Scene::new(), Scene::new());
    let plan = scene.plan(&["a.jsonl"], 60 * MINUTE);
    let logs = [other.log.clone(), scene.temp.path().join("missing.jsonl")];
    let sealer = plan.sealer.clone().with_logs(&logs);
    assert!(sealer.create_checkpoint().is_err(), "a person is told");
    let running = RunningSchedule::start(SealPlan { sealer, ..plan });
    running.stop().await;
    let delivered = scene.delivered("a.jsonl");
    assert_eq!((delivered.len(), delivered[0].checkpoint.chains.len()), (1, 2));
}

/// Two servers of one project have the same schedule.
#[tokio::test(start_paused = true)]
async fn checkpoints_of_two_servers_follow_each_other() {
    let scene = Scene::new();
    let plan = scene.plan(&["a.jsonl"], 60 * MINUTE);
    let servers = [RunningSchedule::start(plan.clone()), RunningSchedule::start(plan)];
    sleep(185 * MINUTE).await;
    for server in servers {
        server.stop().await;
    }
    assert_eq!(scene.count("a.jsonl"), 8);
    scene.check_proof("a.jsonl");
}
