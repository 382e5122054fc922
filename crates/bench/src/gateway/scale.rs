//! Many tools and many servers behind our gateway: how long a list takes, and what memory it needs.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::config::{self, Entry, Reach};
use super::front::{Door, vouch};
use super::table::goal;
use super::upstream::{Kind, Scene, own_command, shown};

const TOOLS: usize = 2_000;
const LISTINGS: usize = 31;
const LIST_GOAL_MS: f64 = 50.0;

const SERVERS: usize = 10;
const CALLS: usize = 200;
const MEMORY_GOAL_MB: f64 = 60.0;
/// How long a gateway may take until it offers the tools of all servers.
const READY_LIMIT: Duration = Duration::from_secs(60);

/// Both goals. What cannot be measured misses, and says why.
pub(super) fn run(scene: &Scene) -> String {
    let mut out = String::new();
    for door in [Door::Http, Door::Stdio] {
        eprintln!("{TOOLS} tools: list over {door:?}");
        out += &listing(scene, door).unwrap_or_else(|error| {
            goal(false, &format!("{TOOLS} tools over {door:?}: {error:#}"))
        });
    }
    eprintln!("{SERVERS} servers: memory");
    out += &memory(scene)
        .unwrap_or_else(|error| goal(false, &format!("{SERVERS} servers: {error:#}")));
    out
}

/// All pages of a list that the gateway has given before.
fn listing(scene: &Scene, door: Door) -> Result<String> {
    let program = scene.binaries.join("adversary");
    if !program.is_file() {
        return Ok(format!(
            "left out: {TOOLS} tools over {door:?}: testkit's `adversary` is not built\n"
        ));
    }
    let child = vec![shown(&program), "--tools".into(), TOOLS.to_string()];
    let entry = Entry {
        name: "many".into(),
        reach: Reach::Stdio(child.clone(), Vec::new()),
        overlays: Vec::new(),
    };
    let folder = config::write(scene, &format!("many-{door:?}"), &[entry])?;
    let (_tree, mut client) = vouch(scene, &folder, door, &child)?;
    client.wait_for(TOOLS, |name| name.starts_with("many__"), READY_LIMIT)?;
    let mut times = (0..LISTINGS)
        .map(|_| client.list().map(|(elapsed, _)| elapsed.as_secs_f64() * 1e3))
        .collect::<Result<Vec<f64>>>()?;
    times.sort_by(f64::total_cmp);
    let (median, worst) = (times[LISTINGS / 2], times[LISTINGS - 1]);
    Ok(goal(
        median < LIST_GOAL_MS,
        &format!(
            "{TOOLS} tools over {door:?}: listed in {median:.1} ms, at worst {worst:.1} ms (goal {LIST_GOAL_MS:.0})"
        ),
    ))
}

/// The gateway's own memory with servers of ours behind it, after calls to each.
fn memory(scene: &Scene) -> Result<String> {
    let (tool, arguments) = Kind::Own.tool();
    let entries = (0..SERVERS)
        .map(|index| {
            let root = scene.own_root(&format!("own-{index}"))?;
            Ok(Entry {
                name: format!("own-{index}"),
                reach: Reach::Stdio(own_command(&scene.vouch(), &root), vec![root]),
                overlays: vec![(tool, Kind::Own.overlay())],
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let folder = config::write(scene, "ten", &entries)?;
    let (tree, mut client) = vouch(scene, &folder, Door::Http, &[])?;
    client.wait_for(SERVERS, |name| name.ends_with("__hello"), READY_LIMIT)?;
    for Entry { name, .. } in &entries {
        client.run_for(&format!("{name}__{tool}"), &arguments, CALLS, READY_LIMIT)?;
    }
    let tree = tree.context("our gateway is a process of its own")?;
    let own = tree.server.resident_mb()?;
    let children = tree.usage()?.own_mb - own;
    ensure!(children > 0.0, "no server runs below the gateway");
    Ok(goal(
        own < MEMORY_GOAL_MB,
        &format!(
            "{SERVERS} servers of ours behind: {own:.1} MB resident (goal {MEMORY_GOAL_MB:.0}); they themselves {children:.0} MB"
        ),
    ))
}
