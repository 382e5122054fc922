//! Speed of `read_file`, alone and with the imported files.

use anyhow::Result;
use serde_json::json;

use super::trees::SearchTree;
use super::{ContextReport, VouchServer};
use crate::load::LatencySample;

const CALLS: usize = 500;

pub(super) fn measure_read(tree: &SearchTree, report: &mut ContextReport) -> Result<()> {
    let mut vouch = VouchServer::start(tree, "")?;
    report.add_table(
        &format!("`read_file` of `{}`, {}", tree.file, tree.name),
        "| | p50 ms | p99 ms | dependencies |",
    );
    for (with, name, goal) in [(false, "alone", 2.0), (true, "with dependencies", 20.0)] {
        let arguments = json!({"path": tree.file, "includeDeps": with});
        let mut times = Vec::new();
        let mut found = 0;
        for _ in 0..CALLS {
            let (time, answer) = vouch.call("read_file", &arguments)?;
            times.push(time);
            found = answer["dependencies"].as_array().map_or(0, Vec::len);
        }
        let elapsed = times.iter().sum();
        let sample = LatencySample::new(times, elapsed);
        let p50 = sample.quantile_us(0.5) / 1e3;
        let p99 = sample.quantile_us(0.99) / 1e3;
        report.add_row(format!("| {name} | {p50:.2} | {p99:.2} | {found} |"));
        let text = format!("read_file {name}, {}: p50 {p50:.2} ms (goal {goal})", tree.name);
        report.add_goal(p50 < goal, &text);
    }
    Ok(())
}
