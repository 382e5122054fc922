//! Speed of `context_search`: until the first useful answer, until the index is complete, and warm.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::trees::SearchTree;
use super::{ContextArgs, ContextReport, VouchServer, folder_mb, questions, remove_indexes};
use crate::load::LatencySample;
use crate::peers::SearchPeers;
use xtask::command::{bench_state_home, command, root, run as run_command};

use crate::dist::binary_path;

const SEMBLE: &str = "crates/bench/src/context/semble_speed.py";
/// Pause between two requests for the state of the index.
const PAUSE: Duration = Duration::from_millis(20);
/// Number of chunks for which the goal for warm questions is set.
const CHUNKS_GOAL: usize = 100_000;
const PATIENCE: Duration = Duration::from_secs(600);

pub(super) fn measure_search(
    peers: &SearchPeers,
    tree: &SearchTree,
    args: &ContextArgs,
    report: &mut ContextReport,
) -> Result<()> {
    report.add_table(
        &format!("From nothing, {}", tree.name),
        "| | first useful answer s | words complete s | CPU s | chunks | resident MB | index MB |",
    );
    measure_cold(tree, report)?;
    let semble = run_semble(peers, tree)?;
    report.add_row(format!(
        "| semble 0.7 | {:.2} | {:.2} | {:.1} | {} | {:.0} | in memory |",
        to_number(&semble["firstAnswer"]),
        to_number(&semble["firstAnswer"]),
        to_number(&semble["cpu"]),
        semble["chunks"],
        to_number(&semble["residentMb"]),
    ));
    let probe = time_probe(peers, tree)?;
    report.add_row(format!("| probe 0.6 | {probe:.2} | no index | | | | |"));
    if args.complete {
        measure_complete(tree, report)?;
    }
    let mut fill = command(binary_path("fill_index"), &[]);
    fill.arg(&tree.path).arg(bench_state_home());
    run_command(fill)?;
    report.add_table(
        &format!("Warm, 300 different questions, {}", tree.name),
        "| | p50 ms | p99 ms | chunks | resident MB |",
    );
    measure_warm(tree, "", report)?;
    if tree.is_big {
        let exclude = serde_json::to_string(&tree.folders_beyond(CHUNKS_GOAL)?)?;
        let (p50, p99) = measure_warm(tree, &format!("exclude = {exclude}"), report)?;
        let name = tree.name;
        report.add_goal(
            p50 < 10.0,
            &format!("warm context_search, part of {name}: p50 {p50:.1} ms (goal 10)"),
        );
        report.add_goal(
            p99 < 50.0,
            &format!("warm context_search, part of {name}: p99 {p99:.1} ms (goal 50)"),
        );
    }
    add_semble_warm(&semble, report)
}

fn measure_cold(tree: &SearchTree, report: &mut ContextReport) -> Result<()> {
    remove_indexes()?;
    let start = Instant::now();
    let mut vouch = VouchServer::start(tree, "")?;
    let first = loop {
        if is_answered(&mut vouch, tree)? {
            break start.elapsed();
        }
        ensure!(start.elapsed() < PATIENCE, "no useful answer about {}", tree.name);
        std::thread::sleep(PAUSE);
    };
    wait_until_built(&mut vouch)?;
    let built = start.elapsed();
    let chunks = count_chunks(tree)?;
    report.add_row(format!(
        "| vouch | {:.2} | {:.2} | {:.1} | {} | {:.0} | {:.0} |",
        first.as_secs_f64(),
        built.as_secs_f64(),
        vouch.server.cpu_seconds()?,
        chunks,
        vouch.server.resident_mb()?,
        folder_mb(&bench_state_home()),
    ));
    Ok(())
}

/// Returns true if the file that answers the tree's question is among the results.
fn is_answered(vouch: &mut VouchServer, tree: &SearchTree) -> Result<bool> {
    let (_, answer) = vouch.call("context_search", &json!({"query": tree.question}))?;
    let results = answer["results"].as_array();
    Ok(results.is_some_and(|results| results.iter().any(|result| result["path"] == tree.answer)))
}

pub(super) fn wait_until_built(vouch: &mut VouchServer) -> Result<()> {
    wait_until(vouch, |index| index["state"] != "building")
}

/// Waits until the state of the index fulfills a condition.
fn wait_until(vouch: &mut VouchServer, is_so: impl Fn(&Value) -> bool) -> Result<()> {
    let start = Instant::now();
    loop {
        let (_, answer) = vouch.call("context_search", &json!({"query": "is the index built"}))?;
        if answer["results"].is_array() && is_so(&answer["index"]) {
            return Ok(());
        }
        ensure!(start.elapsed() < PATIENCE, "the index is still building: {answer}");
        std::thread::sleep(PAUSE);
    }
}

/// Returns the number of chunks of a tree that is indexed already.
fn count_chunks(tree: &SearchTree) -> Result<String> {
    let mut vouch = Command::new(binary_path("vouch"));
    let looked = vouch.args(["index", "--no-embeddings", "--quiet"]).current_dir(&tree.path);
    let summary = String::from_utf8(looked.output()?.stdout)?;
    let chunks = summary
        .split(", ")
        .find_map(|part| part.strip_suffix(" pieces").or_else(|| part.strip_suffix(" chunks")));
    Ok(chunks.with_context(|| format!("no chunks in `{summary}`"))?.to_owned())
}

/// Measures the whole index with the embedded model, which a server builds in the background.
fn measure_complete(tree: &SearchTree, report: &mut ContextReport) -> Result<()> {
    remove_indexes()?;
    let start = Instant::now();
    let mut index = command(binary_path("vouch"), &["index", "--quiet"]);
    index.current_dir(&tree.path);
    run_command(index)?;
    let seconds = start.elapsed().as_secs_f64();
    let chunks = count_chunks(tree)?;
    report.add_row(format!("| vouch, every chunk embedded | | {seconds:.0} | | {chunks} | | |"));
    Ok(())
}

/// Measures different questions on a full index. The vectors of chunks are filled in without the model, which would take
/// an hour on the large tree; questions are embedded.
fn measure_warm(
    tree: &SearchTree,
    settings: &str,
    report: &mut ContextReport,
) -> Result<(f64, f64)> {
    let mut vouch = VouchServer::start(tree, settings)?;
    wait_until(&mut vouch, |index| index.is_null())?;
    let mut times = Vec::new();
    for question in questions::build_questions() {
        let (time, answer) = vouch.call("context_search", &json!({"query": question}))?;
        ensure!(answer["results"].is_array(), "no answer to `{question}`: {answer}");
        times.push(time);
    }
    let elapsed = times.iter().sum();
    let ours = LatencySample::new(times, elapsed);
    let (p50, p99) = (ours.quantile_us(0.5) / 1e3, ours.quantile_us(0.99) / 1e3);
    let chunks = count_chunks(tree)?;
    let resident = vouch.server.resident_mb()?;
    report.add_row(format!("| vouch | {p50:.1} | {p99:.1} | {chunks} | {resident:.0} |"));
    Ok((p50, p99))
}

fn add_semble_warm(semble: &Value, report: &mut ContextReport) -> Result<()> {
    let times = semble["times"].as_array().context("semble gave no times")?;
    let theirs: Vec<_> =
        times.iter().map(|time| Duration::from_secs_f64(to_number(time) / 1e6)).collect();
    let elapsed = theirs.iter().sum();
    let theirs = LatencySample::new(theirs, elapsed);
    report.add_row(format!(
        "| semble 0.7 | {:.1} | {:.1} | {} | {:.0} |",
        theirs.quantile_us(0.5) / 1e3,
        theirs.quantile_us(0.99) / 1e3,
        semble["chunks"],
        to_number(&semble["residentMb"]),
    ));
    Ok(())
}

fn run_semble(peers: &SearchPeers, tree: &SearchTree) -> Result<Value> {
    let cache = root().join("target/bench/semble-cache");
    // A cached index would not be a cold start.
    let _ = fs::remove_dir_all(&cache);
    fs::create_dir_all(&cache)?;
    let mut command = command(peers.python(), &[SEMBLE]);
    command.arg(&tree.path).env("SEMBLE_MODEL_NAME", peers.semble_model()?);
    command.env("SEMBLE_CACHE_LOCATION", &cache);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let questions = serde_json::to_vec(&questions::build_questions())?;
    child.stdin.take().context("semble has no standard input")?.write_all(&questions)?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "semble ended with {}", output.status);
    serde_json::from_slice(&output.stdout).context("failed to parse the output of semble")
}

/// Returns the seconds of one search; probe keeps no index.
fn time_probe(peers: &SearchPeers, tree: &SearchTree) -> Result<f64> {
    let mut command = Command::new(peers.probe()?);
    command.args(["search", tree.question, ".", "--max-results", "10"]).current_dir(&tree.path);
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    ensure!(status.success(), "probe ended with {status}");
    Ok(start.elapsed().as_secs_f64())
}

fn to_number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}
