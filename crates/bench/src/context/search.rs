//! `context_search`: from nothing to the first useful answer, to a complete index, and then warm.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::trees::Tree;
use super::{Args, Report, Vouch, folder_mb, forget, questions};
use crate::load::Sample;
use crate::peers::Peers;
use xtask::command::{command, root, run as run_command};

use crate::dist::binary_path;

const SEMBLE: &str = "crates/bench/src/context/semble_speed.py";
/// How often the state of a building index is asked.
const PAUSE: Duration = Duration::from_millis(20);
/// How many chunks the goal for warm questions is set for.
const CHUNKS_GOAL: usize = 100_000;
const PATIENCE: Duration = Duration::from_secs(600);

pub(super) fn run(peers: &Peers, tree: &Tree, args: &Args, report: &mut Report) -> Result<()> {
    report.table(
        &format!("From nothing, {}", tree.name),
        "| | first useful answer s | words complete s | CPU s | chunks | resident MB | index MB |",
    );
    vouch_cold(tree, report)?;
    let semble = semble(peers, tree)?;
    report.row(format!(
        "| semble 0.7 | {:.2} | {:.2} | {:.1} | {} | {:.0} | in memory |",
        figure(&semble["firstAnswer"]),
        figure(&semble["firstAnswer"]),
        figure(&semble["cpu"]),
        semble["chunks"],
        figure(&semble["residentMb"]),
    ));
    let probe = probe(peers, tree)?;
    report.row(format!("| probe 0.6 | {probe:.2} | no index | | | | |"));
    if args.complete {
        complete(tree, report)?;
    }
    let mut fill = command(binary_path("fill_index"), &[]);
    fill.arg(&tree.path);
    run_command(fill)?;
    report.table(
        &format!("Warm, 300 different questions, {}", tree.name),
        "| | p50 ms | p99 ms | chunks | resident MB |",
    );
    warm(tree, "", report)?;
    if tree.is_big {
        let exclude = serde_json::to_string(&tree.all_but(CHUNKS_GOAL)?)?;
        let (p50, p99) = warm(tree, &format!("exclude = {exclude}"), report)?;
        let name = tree.name;
        report.goal(
            p50 < 10.0,
            &format!("warm context_search, part of {name}: p50 {p50:.1} ms (goal 10)"),
        );
        report.goal(
            p99 < 50.0,
            &format!("warm context_search, part of {name}: p99 {p99:.1} ms (goal 50)"),
        );
    }
    semble_warm(&semble, report)
}

fn vouch_cold(tree: &Tree, report: &mut Report) -> Result<()> {
    forget(tree)?;
    let start = Instant::now();
    let mut vouch = Vouch::start(tree, "")?;
    let first = loop {
        if answers(&mut vouch, tree)? {
            break start.elapsed();
        }
        ensure!(start.elapsed() < PATIENCE, "no useful answer about {}", tree.name);
        std::thread::sleep(PAUSE);
    };
    wait_until_built(&mut vouch)?;
    let built = start.elapsed();
    let chunks = chunks(tree)?;
    report.row(format!(
        "| vouch | {:.2} | {:.2} | {:.1} | {} | {:.0} | {:.0} |",
        first.as_secs_f64(),
        built.as_secs_f64(),
        vouch.server.cpu_seconds()?,
        chunks,
        vouch.server.resident_mb()?,
        folder_mb(&tree.path.join(".vouch")),
    ));
    Ok(())
}

/// Whether the file that answers the tree's question is among the first five.
fn answers(vouch: &mut Vouch, tree: &Tree) -> Result<bool> {
    let (_, answer) = vouch.call("context_search", &json!({"query": tree.question}))?;
    let results = answer["results"].as_array();
    Ok(results.is_some_and(|results| results.iter().any(|result| result["path"] == tree.answer)))
}

pub(super) fn wait_until_built(vouch: &mut Vouch) -> Result<()> {
    wait_until(vouch, |index| index["state"] != "building")
}

/// Waits until an answer says this of the index.
fn wait_until(vouch: &mut Vouch, is_so: impl Fn(&Value) -> bool) -> Result<()> {
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

/// How many chunks there are, from a complete look at a tree that is indexed already.
fn chunks(tree: &Tree) -> Result<String> {
    let mut vouch = Command::new(binary_path("vouch"));
    let looked = vouch.args(["index", "--no-embeddings", "--quiet"]).current_dir(&tree.path);
    let summary = String::from_utf8(looked.output()?.stdout)?;
    let pieces = summary.split(", ").find_map(|part| part.strip_suffix(" pieces"));
    Ok(pieces.with_context(|| format!("no pieces in `{summary}`"))?.to_owned())
}

/// The whole index with the embedded model: what a server does in the background.
fn complete(tree: &Tree, report: &mut Report) -> Result<()> {
    forget(tree)?;
    let start = Instant::now();
    let mut index = command(binary_path("vouch"), &["index", "--quiet"]);
    index.current_dir(&tree.path);
    run_command(index)?;
    let seconds = start.elapsed().as_secs_f64();
    let chunks = chunks(tree)?;
    report.row(format!("| vouch, every piece embedded | | {seconds:.0} | | {chunks} | | |"));
    Ok(())
}

/// Different questions on a full index. The vectors of the pieces are filled in without the model, which would take an
/// hour on the big tree; the questions go through it.
fn warm(tree: &Tree, settings: &str, report: &mut Report) -> Result<(f64, f64)> {
    let mut vouch = Vouch::start(tree, settings)?;
    wait_until(&mut vouch, |index| index.is_null())?;
    let mut times = Vec::new();
    for question in questions::all() {
        let (time, answer) = vouch.call("context_search", &json!({"query": question}))?;
        ensure!(answer["results"].is_array(), "no answer to `{question}`: {answer}");
        times.push(time);
    }
    let elapsed = times.iter().sum();
    let ours = Sample::new(times, elapsed);
    let (p50, p99) = (ours.quantile_us(0.5) / 1e3, ours.quantile_us(0.99) / 1e3);
    let chunks = chunks(tree)?;
    let resident = vouch.server.resident_mb()?;
    report.row(format!("| vouch | {p50:.1} | {p99:.1} | {chunks} | {resident:.0} |"));
    Ok((p50, p99))
}

fn semble_warm(semble: &Value, report: &mut Report) -> Result<()> {
    let times = semble["times"].as_array().context("semble gave no times")?;
    let theirs: Vec<_> =
        times.iter().map(|time| Duration::from_secs_f64(figure(time) / 1e6)).collect();
    let elapsed = theirs.iter().sum();
    let theirs = Sample::new(theirs, elapsed);
    report.row(format!(
        "| semble 0.7 | {:.1} | {:.1} | {} | {:.0} |",
        theirs.quantile_us(0.5) / 1e3,
        theirs.quantile_us(0.99) / 1e3,
        semble["chunks"],
        figure(&semble["residentMb"]),
    ));
    Ok(())
}

fn semble(peers: &Peers, tree: &Tree) -> Result<Value> {
    let cache = root().join("target/bench/semble-cache");
    // A cached index would not be from nothing.
    let _ = fs::remove_dir_all(&cache);
    fs::create_dir_all(&cache)?;
    let mut command = command(peers.python(), &[SEMBLE]);
    command.arg(&tree.path).env("SEMBLE_MODEL_NAME", peers.semble_model()?);
    command.env("SEMBLE_CACHE_LOCATION", &cache);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let questions = serde_json::to_vec(&questions::all())?;
    child.stdin.take().context("semble has no standard input")?.write_all(&questions)?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "semble ended with {}", output.status);
    serde_json::from_slice(&output.stdout).context("reading what semble measured")
}

/// Seconds of one search; probe keeps no index.
fn probe(peers: &Peers, tree: &Tree) -> Result<f64> {
    let mut command = Command::new(peers.probe()?);
    command.args(["search", tree.question, ".", "--max-results", "10"]).current_dir(&tree.path);
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    ensure!(status.success(), "probe ended with {status}");
    Ok(start.elapsed().as_secs_f64())
}

fn figure(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}
