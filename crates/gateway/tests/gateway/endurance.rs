//! Tests ten thousand calls: each ends as expected, and none leaks resources.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use contract::ErrorCode;
use futures::StreamExt;
use gateway::ConstraintAdjuster;
use runtime::ToolReply;
use serde_json::{Value, json};

use crate::answers::WITHHELD_TEXTS;
use crate::harness::{GatewaySetup, ProjectFolder, TestGateway, wait_until};

const CALLS: usize = 10_000;
/// Number of warm-up calls, after which caches are filled and threads started. Resources may not grow from then on.
const WARM_UP_CALLS: usize = 2_000;
const CONCURRENT_CALLS: usize = 8;
const MAX_GROWTH_KIB: u64 = 16 * 1024;
/// Tolerance for connections and threads of calls in progress.
const SLACK: usize = 2 * CONCURRENT_CALLS;

/// Expected outcome of a call.
#[derive(Clone, Debug, PartialEq)]
enum ExpectedOutcome {
    Data(Value),
    /// Any data.
    AnyData,
    Code(ErrorCode),
}

/// Runs in its own process, where no other test opens files or starts threads.
#[test]
fn ten_thousand_calls_leak_no_resources() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "endurance::run_ten_thousand_calls", "--ignored", "--nocapture"])
        // Otherwise glibc may cache a buffer of many megabytes, which looks like a leak.
        .env("MALLOC_MMAP_THRESHOLD_", "1048576")
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&child.stderr));
    assert!(stdout.contains("1 passed"), "{stdout}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by `ten_thousand_calls_leak_no_resources` in its own process"]
async fn run_ten_thousand_calls() {
    let site = ProjectFolder::new();
    // Initialize everything that stays allocated for the life of the process.
    site.serve_adversary("first", &[]).await.stop().await;
    let before = ProcessResources::measure();
    let rig = start_gateway(&site).await;
    let mut outcomes = BTreeMap::new();
    run_calls(&rig, 0..WARM_UP_CALLS, &mut outcomes).await;
    let warm = ProcessResources::measure();
    run_calls(&rig, WARM_UP_CALLS..CALLS, &mut outcomes).await;
    let end = ProcessResources::measure();
    assert_eq!(outcomes.values().sum::<usize>(), CALLS, "{outcomes:?}");
    check_counts(&rig, &outcomes);
    assert_eq!(end.children, warm.children, "children");
    assert!(end.threads <= warm.threads + SLACK, "threads: {warm:?} to {end:?}");
    assert!(end.files <= warm.files + SLACK, "files: {warm:?} to {end:?}");
    assert!(end.kib <= warm.kib + MAX_GROWTH_KIB, "memory: {warm:?} to {end:?}");
    rig.close().await;
    drop(site);
    wait_until("all children to end and all files to be closed", || {
        let now = ProcessResources::measure();
        now.children == 0 && now.files <= before.files
    })
    .await;
}

async fn start_gateway(site: &std::sync::Arc<ProjectFolder>) -> TestGateway {
    site.write_overlay("child", "slow", &json!({"constraints": {"timeoutMs": 20}}));
    site.write_overlay("web", "slow", &json!({"constraints": {"timeoutMs": 20}}));
    let mut setup = GatewaySetup::in_project(site)
        .with_child("child", &[])
        .with_child("mortal", &["--only", "dies,good"]);
    let web = site.serve_adversary("web", &[]).await;
    let url = web.url.clone();
    setup.served.push(web);
    setup = setup.with_url("web", &url);
    setup.adjust = Some(ConstraintAdjuster::new(|_, constraints| {
        constraints.rate_per_minute = 1_000_000;
        true
    }));
    setup.start().await
}

async fn run_calls(
    rig: &TestGateway,
    calls: std::ops::Range<usize>,
    outcomes: &mut BTreeMap<String, usize>,
) {
    let mut ended = futures::stream::iter(calls)
        .map(|number| async move {
            let (tool, arguments, wanted) = plan_call(number);
            let reply = rig.call(&tool, arguments).await;
            check_reply(&tool, &reply, &wanted);
            let outcome = match reply.code() {
                None => "data".to_owned(),
                Some(code) => code.to_string(),
            };
            (outcome, tool)
        })
        .buffer_unordered(CONCURRENT_CALLS);
    while let Some((outcome, tool)) = ended.next().await {
        *outcomes.entry(format!("{tool} {outcome}")).or_default() += 1;
    }
}

fn check_reply(tool: &str, reply: &ToolReply, wanted: &ExpectedOutcome) {
    match (reply, wanted) {
        (ToolReply::Done(output), ExpectedOutcome::Data(data)) if !output.is_error => {
            assert_eq!(output.structured.as_ref(), Some(data), "{tool}");
        }
        (ToolReply::Done(output), ExpectedOutcome::AnyData) if !output.is_error => {}
        (reply, ExpectedOutcome::Code(code)) if reply.code() == Some(*code) => {}
        _ => panic!("{tool}: wanted {wanted:?}, got {reply:?}"),
    }
    if matches!(wanted, ExpectedOutcome::Code(_)) {
        let whole = format!("{reply:?}");
        for marker in WITHHELD_TEXTS {
            assert!(!whole.contains(marker), "{tool}: {whole}");
        }
    }
}

/// Returns tool, arguments and expected outcome of one call. Expensive calls are rare.
fn plan_call(number: usize) -> (String, Value, ExpectedOutcome) {
    use ErrorCode::{
        ContractViolation, ExecutionTimeout, InvalidInput, TooLarge, ToolFailed, ToolNotFound,
        UpstreamUnavailable,
    };
    let upstream = if number.is_multiple_of(2) { "child" } else { "web" };
    let call = |tool: &str, arguments: Value, wanted: ExpectedOutcome| {
        (format!("{upstream}__{tool}"), arguments, wanted)
    };
    let broken = |tool: &str, arguments: Value| {
        call(tool, arguments, ExpectedOutcome::Code(ContractViolation))
    };
    let refused =
        |tool: &str| call(tool, json!({"text": "a"}), ExpectedOutcome::Code(ToolNotFound));
    // The turn changes with every other call, so both upstreams get every plan.
    let turn = (number / 2) % 100;
    if number % 2_500 < 2 {
        return call("huge", json!({}), ExpectedOutcome::Code(TooLarge));
    }
    if number % 2_500 == 100 {
        return ("mortal__dies".into(), json!({}), ExpectedOutcome::Code(UpstreamUnavailable));
    }
    match turn {
        0 => call("slow", json!({}), ExpectedOutcome::Code(ExecutionTimeout)),
        1 => broken("violates", json!({"how": "wrong_type"})),
        2 => broken("violates", json!({"how": "missing"})),
        3 => broken("violates", json!({"how": "extra"})),
        4 => broken("violates", json!({"how": "null"})),
        5 => broken("text_only", json!({})),
        6 => broken("deep", json!({"levels": 100})),
        7 => broken("numbers_beyond", json!({})),
        8 => call("error", json!({}), ExpectedOutcome::Code(ToolFailed)),
        9 => call("rpc_error", json!({}), ExpectedOutcome::Code(ToolFailed)),
        10 => call("twice", json!({}), ExpectedOutcome::Data(json!({"text": "the first answer"}))),
        11 => {
            call("garbage", json!({}), ExpectedOutcome::Data(json!({"text": "after the garbage"})))
        }
        12 => call(
            "floods",
            json!({"bytes": 10_000}),
            ExpectedOutcome::Data(json!({"bytes": 10_000})),
        ),
        13 => call("good_many", json!({"count": 100}), ExpectedOutcome::AnyData),
        14 => call("numbers", json!({}), ExpectedOutcome::AnyData),
        15 => call("good", json!({"text": 1}), ExpectedOutcome::Code(InvalidInput)),
        16 => refused("vacuous"),
        17 => refused("poisoned"),
        18 => refused("no_description"),
        19 => refused("twin"),
        20 => refused("unheard_of"),
        21 => call("progress", json!({}), ExpectedOutcome::Data(json!({"steps": 3}))),
        22 => call("deep", json!({"levels": 10}), ExpectedOutcome::AnyData),
        // Over a shared pipe, the foreign answer could match another pending call.
        23 if upstream == "web" => call(
            "foreign",
            json!({}),
            ExpectedOutcome::Data(json!({"text": "meant for this call"})),
        ),
        24 => call(
            "huge",
            json!({"bytes": 100_000}),
            ExpectedOutcome::Data(json!({"bytes": 100_000})),
        ),
        _ => {
            let text = format!("call {number}");
            call("good", json!({"text": text}), ExpectedOutcome::Data(json!({"text": text})))
        }
    }
}

/// Checks that the servers received every forwarded call exactly once.
fn check_counts(rig: &TestGateway, outcomes: &BTreeMap<String, usize>) {
    for upstream in ["child", "web", "mortal"] {
        let counted = rig.site.read_counts(upstream);
        let mut made: BTreeMap<&str, usize> = BTreeMap::new();
        for (entry, count) in outcomes {
            let (name, outcome) = entry.split_once(' ').expect("tool and outcome");
            let Some(tool) = name.strip_prefix(upstream).and_then(|tool| tool.strip_prefix("__"))
            else {
                continue;
            };
            if !matches!(outcome, "TOOL_NOT_FOUND" | "INVALID_INPUT") {
                *made.entry(tool).or_default() += count;
            }
        }
        let calls = counted["calls"].as_object().expect("counts");
        let ran: BTreeMap<&str, usize> = calls
            .iter()
            .map(|(tool, count)| {
                (tool.as_str(), usize::try_from(count.as_u64().unwrap_or(0)).unwrap())
            })
            .collect();
        for tool in ran.keys().chain(made.keys()) {
            let count = |counts: &BTreeMap<&str, usize>| counts.get(tool).copied().unwrap_or(0);
            // A call may time out before it is sent.
            let is_fine = if *tool == "slow" { usize::le } else { usize::eq };
            assert!(
                is_fine(&count(&ran), &count(&made)),
                "{upstream} {tool}: {ran:?}, not {made:?}"
            );
        }
    }
}

/// Resources of this process, as reported by the system.
#[derive(Debug)]
struct ProcessResources {
    children: usize,
    threads: usize,
    files: usize,
    kib: u64,
}

impl ProcessResources {
    fn measure() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        Self {
            children: count_descendants(),
            threads: count_entries("/proc/self/task"),
            files: count_entries("/proc/self/fd"),
            kib: resident.trim().trim_end_matches(" kB").parse().unwrap(),
        }
    }
}

fn count_entries(folder: &str) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

/// Returns the number of descendant processes that are not zombies.
fn count_descendants() -> usize {
    let mut parents = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // The process may have ended meanwhile.
        let Ok(stat) =
            std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"))
        else {
            continue;
        };
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let (state, parent) =
            (fields.next(), fields.next().and_then(|parent| parent.parse::<u32>().ok()));
        if state != Some("Z") {
            parents.extend(parent.map(|parent| (pid, parent)));
        }
    }
    let own = std::process::id();
    let is_ours = |pid: &u32| {
        let mut at = *pid;
        while let Some(parent) = parents.get(&at) {
            if *parent == own {
                return true;
            }
            at = *parent;
        }
        false
    };
    parents.keys().filter(|pid| is_ours(pid)).count()
}
