//! Ten thousand calls: each ends as it should, and nothing is left of any.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use contract::Code;
use futures::StreamExt;
use gateway::Adjust;
use runtime::Reply;
use serde_json::{Value, json};

use crate::answers::MARKERS;
use crate::rig::{Rig, Setup, Site, until};

const CALLS: usize = 10_000;
/// From here on nothing may grow: caches are filled, threads are started.
const WARM: usize = 2_000;
const AT_ONCE: usize = 8;
const MAX_GROWTH_KIB: u64 = 16 * 1024;
/// Connections and threads come and go with the calls that are under way.
const SLACK: usize = 2 * AT_ONCE;

/// What a call must become.
#[derive(Clone, Debug, PartialEq)]
enum Wanted {
    Data(Value),
    /// Data of a shape that is known well enough by being data.
    Some,
    Code(Code),
}

/// In a process of its own: here nobody else opens files or starts threads.
#[test]
fn ten_thousand_calls_leave_nothing_behind() {
    let alone = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "endurance::alone", "--ignored", "--nocapture"])
        // Or glibc may keep a buffer of many megabytes for later, which looks like a leak.
        .env("MALLOC_MMAP_THRESHOLD_", "1048576")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&alone.stdout);
    assert!(alone.status.success(), "{said}\n{}", String::from_utf8_lossy(&alone.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by `ten_thousand_calls_leave_nothing_behind` in a process of its own"]
async fn alone() {
    let site = Site::new();
    // A first request of everything that stays for the life of a process.
    site.serve("first", &[]).await.stop().await;
    let before = Resources::now();
    let rig = start(&site).await;
    let mut outcomes = BTreeMap::new();
    run(&rig, 0..WARM, &mut outcomes).await;
    let warm = Resources::now();
    run(&rig, WARM..CALLS, &mut outcomes).await;
    let end = Resources::now();
    let told: Vec<String> =
        outcomes.iter().map(|(what, count)| format!("{what}: {count}")).collect();
    assert_eq!(outcomes.values().sum::<usize>(), CALLS, "{told:?}");
    check_counts(&rig, &outcomes);
    assert_eq!(end.children, warm.children, "children");
    assert!(end.threads <= warm.threads + SLACK, "threads: {warm:?} to {end:?}");
    assert!(end.files <= warm.files + SLACK, "files: {warm:?} to {end:?}");
    assert!(end.kib <= warm.kib + MAX_GROWTH_KIB, "memory: {warm:?} to {end:?}");
    rig.close().await;
    drop(site);
    until("all children and files to be gone", || {
        let now = Resources::now();
        now.children == 0 && now.files <= before.files
    })
    .await;
}

async fn start(site: &std::sync::Arc<Site>) -> Rig {
    site.overlay("child", "slow", &json!({"constraints": {"timeoutMs": 20}}));
    site.overlay("web", "slow", &json!({"constraints": {"timeoutMs": 20}}));
    let mut setup = Setup::on(site).child("child", &[]).child("mortal", &["--only", "dies,good"]);
    let web = site.serve("web", &[]).await;
    let url = web.url.clone();
    setup.served.push(web);
    setup = setup.at("web", &url);
    setup.adjust = Some(Adjust::new(|_, constraints| {
        constraints.rate_per_minute = 1_000_000;
        true
    }));
    setup.start().await
}

async fn run(rig: &Rig, calls: std::ops::Range<usize>, outcomes: &mut BTreeMap<String, usize>) {
    let mut ended = futures::stream::iter(calls)
        .map(|number| async move {
            let (tool, arguments, wanted) = planned(number);
            let reply = rig.call(&tool, arguments).await;
            check(&tool, &reply, &wanted);
            let what = match reply.code() {
                None => "data".to_owned(),
                Some(code) => code.to_string(),
            };
            (what, tool)
        })
        .buffer_unordered(AT_ONCE);
    while let Some((what, tool)) = ended.next().await {
        *outcomes.entry(format!("{tool} {what}")).or_default() += 1;
    }
}

fn check(tool: &str, reply: &Reply, wanted: &Wanted) {
    match (reply, wanted) {
        (Reply::Done(output), Wanted::Data(data)) if !output.is_error => {
            assert_eq!(output.structured.as_ref(), Some(data), "{tool}");
        }
        (Reply::Done(output), Wanted::Some) if !output.is_error => {}
        (reply, Wanted::Code(code)) if reply.code() == Some(*code) => {}
        _ => panic!("{tool}: wanted {wanted:?}, got {reply:?}"),
    }
    if matches!(wanted, Wanted::Code(_)) {
        let whole = format!("{reply:?}");
        for marker in MARKERS {
            assert!(!whole.contains(marker), "{tool}: {whole}");
        }
    }
}

/// The plan of one call. What is slow to make or to keep is rare.
fn planned(number: usize) -> (String, Value, Wanted) {
    use Code::{
        ContractViolation, ExecutionTimeout, InvalidInput, TooLarge, ToolFailed, ToolNotFound,
        UpstreamUnavailable,
    };
    let upstream = if number.is_multiple_of(2) { "child" } else { "web" };
    let call = |tool: &str, arguments: Value, wanted: Wanted| {
        (format!("{upstream}__{tool}"), arguments, wanted)
    };
    let broken =
        |tool: &str, arguments: Value| call(tool, arguments, Wanted::Code(ContractViolation));
    let refused = |tool: &str| call(tool, json!({"text": "a"}), Wanted::Code(ToolNotFound));
    // Both upstreams get every plan: the turn changes with every other call.
    let turn = (number / 2) % 100;
    if number % 2_500 < 2 {
        return call("huge", json!({}), Wanted::Code(TooLarge));
    }
    if number % 2_500 == 100 {
        return ("mortal__dies".into(), json!({}), Wanted::Code(UpstreamUnavailable));
    }
    match turn {
        0 => call("slow", json!({}), Wanted::Code(ExecutionTimeout)),
        1 => broken("violates", json!({"how": "wrong_type"})),
        2 => broken("violates", json!({"how": "missing"})),
        3 => broken("violates", json!({"how": "extra"})),
        4 => broken("violates", json!({"how": "null"})),
        5 => broken("text_only", json!({})),
        6 => broken("deep", json!({"levels": 100})),
        7 => broken("numbers_beyond", json!({})),
        8 => call("error", json!({}), Wanted::Code(ToolFailed)),
        9 => call("rpc_error", json!({}), Wanted::Code(ToolFailed)),
        10 => call("twice", json!({}), Wanted::Data(json!({"text": "the first answer"}))),
        11 => call("garbage", json!({}), Wanted::Data(json!({"text": "after the garbage"}))),
        12 => call("floods", json!({"bytes": 10_000}), Wanted::Data(json!({"bytes": 10_000}))),
        13 => call("good_many", json!({"count": 100}), Wanted::Some),
        14 => call("numbers", json!({}), Wanted::Some),
        15 => call("good", json!({"text": 1}), Wanted::Code(InvalidInput)),
        16 => refused("vacuous"),
        17 => refused("poisoned"),
        18 => refused("no_description"),
        19 => refused("twin"),
        20 => refused("unheard_of"),
        21 => call("progress", json!({}), Wanted::Data(json!({"steps": 3}))),
        22 => call("deep", json!({"levels": 10}), Wanted::Some),
        // Over one pipe the foreign answer would be for another call that waits, and could fit it.
        23 if upstream == "web" => {
            call("foreign", json!({}), Wanted::Data(json!({"text": "meant for this call"})))
        }
        24 => call("huge", json!({"bytes": 100_000}), Wanted::Data(json!({"bytes": 100_000}))),
        _ => {
            let text = format!("call {number}");
            call("good", json!({"text": text}), Wanted::Data(json!({"text": text})))
        }
    }
}

/// What the servers saw is what was let through, once each.
fn check_counts(rig: &Rig, outcomes: &BTreeMap<String, usize>) {
    for upstream in ["child", "web", "mortal"] {
        let counted = rig.site.counted(upstream);
        let mut made: BTreeMap<&str, usize> = BTreeMap::new();
        for (what, count) in outcomes {
            let (name, outcome) = what.split_once(' ').expect("tool and outcome");
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
            let count = |of: &BTreeMap<&str, usize>| of.get(tool).copied().unwrap_or(0);
            // A call whose time was up before it left is not missed by anybody.
            let is_fine = if *tool == "slow" { usize::le } else { usize::eq };
            assert!(
                is_fine(&count(&ran), &count(&made)),
                "{upstream} {tool}: {ran:?}, not {made:?}"
            );
        }
    }
}

/// What this process holds, as the system sees it.
#[derive(Debug)]
struct Resources {
    children: usize,
    threads: usize,
    files: usize,
    kib: u64,
}

impl Resources {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        Self {
            children: descendants(),
            threads: entries("/proc/self/task"),
            files: entries("/proc/self/fd"),
            kib: resident.trim().trim_end_matches(" kB").parse().unwrap(),
        }
    }
}

fn entries(folder: &str) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

/// Processes below this one, at any depth, that are no zombies.
fn descendants() -> usize {
    let mut parents = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // It may have ended meanwhile.
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
