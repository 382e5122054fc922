//! What an agent that watches costs: one campaign, watched and not watched in turn.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::served::{Client, Served};
use crate::fuzz::report::{Cell, Part, median};
use crate::fuzz::subjects::Subject;

/// One slice watched and one not.
const ROUNDS: usize = 120;
const SLICE: Duration = Duration::from_secs(1);
/// Between two looks of the agent.
const LOOK: Duration = Duration::from_millis(250);
const GOAL: f64 = 0.99;

pub(super) fn run(subject: &Subject, cores: usize, load: f64) -> Result<Part> {
    let workers = cores.to_string();
    let flags = ["--workers", &workers, "--seed", "1", "--test-limit", "1000000000000000"];
    let served = Served::start(subject, &flags)?;
    let mut client = served.connect()?;
    eprintln!("observed: {ROUNDS} rounds");
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        // Which comes first is not always the same, since a campaign changes while it runs.
        let (first, second) =
            (slice(&mut client, round % 2 == 0)?, slice(&mut client, round % 2 == 1)?);
        let (watched, alone) = if round % 2 == 0 { (first, second) } else { (second, first) };
        ratios.push(watched / alone);
    }
    ratios.sort_by(f64::total_cmp);
    let ratio = median(&ratios).context("no round was run")?;
    let title =
        format!("A campaign on {} with an agent that looks four times a second", subject.title);
    let mut part = Part::new(&title, load, &["lower quartile", "median ratio", "upper quartile"]);
    let quartiles = [ratios[ROUNDS / 4], ratio, ratios[ROUNDS - 1 - ROUNDS / 4]];
    part.row(quartiles.map(|figure| Cell::Number(figure, 3)));
    part.goal(ratio >= GOAL, format!("{ratio:.3} of the calls while it is watched (goal {GOAL})"));
    Ok(part)
}

/// Calls a second of a slice.
fn slice(client: &mut Client, is_watched: bool) -> Result<f64> {
    let looks: [(&str, Value); 4] = [
        ("read_logs", json!({})),
        ("show_coverage", json!({})),
        ("inspect_corpus_transactions", json!({})),
        ("get_corpus_size", json!({})),
    ];
    let (begin, before) = (Instant::now(), client.calls()?);
    for (tool, arguments) in looks.iter().cycle() {
        let Some(left) = SLICE.checked_sub(begin.elapsed()).filter(|left| !left.is_zero()) else {
            break;
        };
        if is_watched {
            client.call(tool, arguments)?;
        }
        thread::sleep(LOOK.min(left));
    }
    let calls = client.calls()? - before;
    Ok(calls / begin.elapsed().as_secs_f64())
}
