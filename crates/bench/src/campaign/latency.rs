//! Response times of the nine tools while all workers are busy: three clients at once, 20 calls per second each.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};

use super::served::{CampaignClient, ServedCampaign};
use crate::fuzz::report::{ReportPart, TableCell};
use crate::fuzz::subjects::FuzzSubject;

const CLIENTS: usize = 3;
const CALLS_PER_SECOND: u32 = 20;
/// In milliseconds.
const P99_GOAL: f64 = 20.0;
const MOST_GOAL: f64 = 100.0;

/// A tool and its arguments.
type ToolRequest = (&'static str, Value);

pub(super) fn measure_latency(
    subject: &FuzzSubject,
    cores: usize,
    calls: usize,
    load: f64,
) -> Result<ReportPart> {
    let workers = cores.to_string();
    let flags = ["--workers", &workers, "--seed", "1", "--test-limit", "1000000000000000"];
    let served = ServedCampaign::start(subject, &flags)?;
    let asked = build_requests(&mut served.connect()?)?;
    let each = calls.div_ceil(CLIENTS);
    eprintln!("latency: {each} calls by each of {CLIENTS} clients");
    let answered = thread::scope(|scope| -> Result<Vec<(usize, Duration)>> {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| Ok((number, served.connect()?)))
            .collect::<Result<Vec<(usize, CampaignClient)>>>()?;
        let asked = &asked;
        let threads: Vec<_> = clients
            .into_iter()
            .map(|(number, client)| scope.spawn(move || send_requests(client, asked, number, each)))
            .collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| anyhow!("a client thread panicked"))??);
        }
        Ok(all)
    })?;
    let title = format!(
        "Answers while {cores} workers fuzz {}, {CLIENTS} clients with {CALLS_PER_SECOND} calls a second each, ms",
        subject.title
    );
    let mut part = ReportPart::new(&title, load, &["tool", "calls", "p50", "p99", "most"]);
    for (index, (tool, _)) in asked.iter().enumerate() {
        let of_tool = answered.iter().filter(|(asked, _)| *asked == index);
        add_latency_row(&mut part, tool, of_tool.map(|(_, took)| *took).collect());
    }
    let (p99, most) =
        add_latency_row(&mut part, "all", answered.iter().map(|(_, took)| *took).collect());
    part.add_goal(p99 < P99_GOAL, format!("p99 {p99:.1} ms (goal {P99_GOAL})"));
    part.add_goal(
        most < MOST_GOAL,
        format!("the slowest answer took {most:.1} ms (goal {MOST_GOAL})"),
    );
    Ok(part)
}

/// Returns a request for each of the nine tools, on a function of the target.
fn build_requests(client: &mut CampaignClient) -> Result<Vec<ToolRequest>> {
    let (_, target) = client.call("campaign_target", &json!({}))?;
    let functions = target["functions"].as_array().context("a target has functions")?;
    let function = functions.iter().find(|it| it["called"] == true && it["mutability"] != "view");
    let signature = function.and_then(|it| it["signature"].as_str());
    let signature = signature.context("a target has a function that is called")?;
    let (name, types) = signature.trim_end_matches(')').split_once('(').context("a signature")?;
    let holes: Vec<_> = types.split(',').filter(|it| !it.is_empty()).map(|_| "?").collect();
    let call = format!("{name}({})", holes.join(", "));
    Ok(vec![
        ("read_logs", json!({"count": 100})),
        ("show_coverage", json!({})),
        ("dump_lcov", json!({})),
        ("get_corpus_size", json!({})),
        ("inspect_corpus_transactions", json!({"limit": 100})),
        ("find_transaction_in_corpus", json!({"functionSignature": signature})),
        ("inject_transaction", json!({"sequence": [call]})),
        ("prioritize_function", json!({"functionSignature": signature})),
        ("clear_priorities", json!({})),
    ])
}

/// Makes one client's calls at a steady pace. Returns the index of each request and its duration.
fn send_requests(
    mut client: CampaignClient,
    asked: &[ToolRequest],
    number: usize,
    calls: usize,
) -> Result<Vec<(usize, Duration)>> {
    let pause = Duration::from_secs(1) / CALLS_PER_SECOND;
    let begin = Instant::now();
    let mut answered = Vec::with_capacity(calls);
    for call in 0..calls {
        let due = pause * u32::try_from(call)?;
        thread::sleep(due.saturating_sub(begin.elapsed()));
        // Clients start at different tools.
        let index = (call + number * asked.len() / CLIENTS) % asked.len();
        let (tool, arguments) = &asked[index];
        let (took, _) = client.call(tool, arguments)?;
        answered.push((index, took));
    }
    Ok(answered)
}

/// Adds a row. Returns its 99th percentile and its maximum in milliseconds.
fn add_latency_row(part: &mut ReportPart, title: &str, mut took: Vec<Duration>) -> (f64, f64) {
    took.sort_unstable();
    let at = |share: f64| {
        let index = (took.len().saturating_sub(1) as f64 * share).round() as usize;
        took.get(index).map_or(0.0, |took| took.as_secs_f64() * 1e3)
    };
    let (p50, p99, most) = (at(0.5), at(0.99), at(1.0));
    let figures = [p50, p99, most].map(|figure| TableCell::Number(figure, 2));
    let head = [TableCell::from_text(title), TableCell::from_count(took.len() as f64)];
    part.add_row(head.into_iter().chain(figures).collect::<Vec<_>>());
    (p99, most)
}
