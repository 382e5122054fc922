//! Cost of an agent that watches: one campaign, alternately watched and not watched.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::served::{CampaignClient, ServedCampaign};
use crate::fuzz::report::{ReportPart, TableCell, median};
use crate::fuzz::subjects::FuzzSubject;

/// A round is one watched slice and one unwatched slice.
const ROUNDS: usize = 120;
const SLICE: Duration = Duration::from_secs(1);
/// Pause between two calls of the agent.
const LOOK: Duration = Duration::from_millis(250);
const GOAL: f64 = 0.99;

pub(super) fn measure_observer_cost(
    subject: &FuzzSubject,
    cores: usize,
    load: f64,
) -> Result<ReportPart> {
    let workers = cores.to_string();
    let flags = ["--workers", &workers, "--seed", "1", "--test-limit", "1000000000000000"];
    let served = ServedCampaign::start(subject, &flags)?;
    let mut client = served.connect()?;
    eprintln!("observed: {ROUNDS} rounds");
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        // The order alternates, because a campaign changes while it runs.
        let (first, second) = (
            measure_slice(&mut client, round % 2 == 0)?,
            measure_slice(&mut client, round % 2 == 1)?,
        );
        let (watched, alone) = if round % 2 == 0 { (first, second) } else { (second, first) };
        ratios.push(watched / alone);
    }
    ratios.sort_by(f64::total_cmp);
    let ratio = median(&ratios).context("no round was run")?;
    let title =
        format!("A campaign on {} with an agent that looks four times a second", subject.title);
    let mut part =
        ReportPart::new(&title, load, &["lower quartile", "median ratio", "upper quartile"]);
    let quartiles = [ratios[ROUNDS / 4], ratio, ratios[ROUNDS - 1 - ROUNDS / 4]];
    part.add_row(quartiles.map(|figure| TableCell::Number(figure, 3)));
    part.add_goal(
        ratio >= GOAL,
        format!("{ratio:.3} of the calls while it is watched (goal {GOAL})"),
    );
    Ok(part)
}

/// Runs one slice and returns the campaign's calls per second in it.
fn measure_slice(client: &mut CampaignClient, is_watched: bool) -> Result<f64> {
    let looks: [(&str, Value); 4] = [
        ("read_logs", json!({})),
        ("show_coverage", json!({})),
        ("inspect_corpus_transactions", json!({})),
        ("get_corpus_size", json!({})),
    ];
    let (begin, before) = (Instant::now(), client.count_calls()?);
    for (tool, arguments) in looks.iter().cycle() {
        let Some(left) = SLICE.checked_sub(begin.elapsed()).filter(|left| !left.is_zero()) else {
            break;
        };
        if is_watched {
            client.call(tool, arguments)?;
        }
        thread::sleep(LOOK.min(left));
    }
    let calls = client.count_calls()? - before;
    Ok(calls / begin.elapsed().as_secs_f64())
}
