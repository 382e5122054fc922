//! Many tools and many servers behind our gateway: time to list tools, and memory.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::config::{self, UpstreamAddress, UpstreamEntry};
use super::front::{GatewayTransport, start_vouch};
use super::table::format_goal;
use super::upstream::{GatewayScene, UpstreamKind, own_command, path_to_string};

const TOOLS: usize = 2_000;
const LISTINGS: usize = 31;
const LIST_GOAL_MS: f64 = 50.0;

const SERVERS: usize = 10;
const CALLS: usize = 200;
const MEMORY_GOAL_MB: f64 = 60.0;
/// Time limit for a gateway to offer the tools of all servers.
const READY_LIMIT: Duration = Duration::from_secs(60);

/// Formats both goals. A measurement that fails counts as missed, with its reason.
pub(super) fn check_scale_goals(scene: &GatewayScene) -> String {
    let mut out = String::new();
    for transport in [GatewayTransport::Http, GatewayTransport::Stdio] {
        eprintln!("{TOOLS} tools: list over {transport:?}");
        out += &measure_listing(scene, transport).unwrap_or_else(|error| {
            format_goal(false, &format!("{TOOLS} tools over {transport:?}: {error:#}"))
        });
    }
    eprintln!("{SERVERS} servers: memory");
    out += &measure_memory(scene)
        .unwrap_or_else(|error| format_goal(false, &format!("{SERVERS} servers: {error:#}")));
    out
}

/// Measures listing all pages, after the gateway has listed them once.
fn measure_listing(scene: &GatewayScene, transport: GatewayTransport) -> Result<String> {
    let program = scene.binaries.join("adversary");
    if !program.is_file() {
        return Ok(format!(
            "left out: {TOOLS} tools over {transport:?}: testkit's `adversary` is not built\n"
        ));
    }
    let child = vec![path_to_string(&program), "--tools".into(), TOOLS.to_string()];
    let entry = UpstreamEntry {
        name: "many".into(),
        reach: UpstreamAddress::Stdio(child.clone(), Vec::new()),
        overlays: Vec::new(),
    };
    let folder = config::write_config(scene, &format!("many-{transport:?}"), &[entry])?;
    let (_tree, mut client) = start_vouch(scene, &scene.vouch(), &folder, transport, &child)?;
    client.wait_for_tools(TOOLS, |name| name.starts_with("many__"), READY_LIMIT)?;
    let mut times = (0..LISTINGS)
        .map(|_| client.list_tools().map(|(elapsed, _)| elapsed.as_secs_f64() * 1e3))
        .collect::<Result<Vec<f64>>>()?;
    times.sort_by(f64::total_cmp);
    let (median, worst) = (times[LISTINGS / 2], times[LISTINGS - 1]);
    Ok(format_goal(
        median < LIST_GOAL_MS,
        &format!(
            "{TOOLS} tools over {transport:?}: listed in {median:.1} ms, at worst {worst:.1} ms (goal {LIST_GOAL_MS:.0})"
        ),
    ))
}

/// Measures the gateway's own memory with our servers behind it, after calls to each.
fn measure_memory(scene: &GatewayScene) -> Result<String> {
    let (tool, arguments) = UpstreamKind::Own.tool();
    let entries = (0..SERVERS)
        .map(|index| {
            let root = scene.own_root(&format!("own-{index}"))?;
            Ok(UpstreamEntry {
                name: format!("own-{index}"),
                reach: UpstreamAddress::Stdio(own_command(&scene.vouch(), &root), vec![root]),
                overlays: vec![(tool, UpstreamKind::Own.overlay())],
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let folder = config::write_config(scene, "ten", &entries)?;
    let (tree, mut client) =
        start_vouch(scene, &scene.vouch(), &folder, GatewayTransport::Http, &[])?;
    client.wait_for_tools(SERVERS, |name| name.ends_with("__hello"), READY_LIMIT)?;
    for UpstreamEntry { name, .. } in &entries {
        client.run_calls_for(&format!("{name}__{tool}"), &arguments, CALLS, READY_LIMIT)?;
    }
    let tree = tree.context("our gateway is a process of its own")?;
    let own = tree.server.resident_mb()?;
    let children = tree.usage()?.own_mb - own;
    ensure!(children > 0.0, "no server runs below the gateway");
    Ok(format_goal(
        own < MEMORY_GOAL_MB,
        &format!(
            "{SERVERS} servers of ours behind: {own:.1} MB resident (goal {MEMORY_GOAL_MB:.0}); they themselves {children:.0} MB"
        ),
    ))
}
