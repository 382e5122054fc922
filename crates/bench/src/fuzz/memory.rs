//! Growth of resident memory in a long campaign.
//!
//! *Flat* means: the resident memory of the last tenth of the time is at most 5 % above that of the tenth that begins
//! after a fifth of it, by their medians. In ten minutes these are the last minute and the third: before that the corpus
//! still grows quickly.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::report::{ReportPart, TableCell, median};
use super::subjects::FuzzSubject;
use super::tools::vouch_binary;
use crate::process::ServerProcess;

const SAMPLES: u32 = 600;
const MAX_GROWTH: f64 = 5.0;

/// Resident memory in megabytes at moments of a campaign.
#[derive(Debug, PartialEq)]
struct MemoryGrowth {
    first: f64,
    early: f64,
    late: f64,
    most: f64,
    percent: f64,
}

pub(super) fn measure_memory(subject: &FuzzSubject, minutes: f64, load: f64) -> Result<ReportPart> {
    let time = Duration::try_from_secs_f64(minutes * 60.0).context("the run time is zero")?;
    let growth = compute_growth(&sample_memory(subject, time)?).context("the run time is zero")?;
    let columns = ["first MB", "after a fifth MB", "at the end MB", "most MB", "growth %"];
    let title = format!("Resident memory over {minutes} minutes on {}", subject.title);
    let mut part = ReportPart::new(&title, load, &columns);
    let MemoryGrowth { first, early, late, most, percent } = growth;
    part.add_row([first, early, late, most, percent].map(|figure| TableCell::Number(figure, 1)));
    let text = format!(
        "memory grows by {percent:.1} % from a fifth of {minutes} minutes to their end (goal {MAX_GROWTH})"
    );
    part.add_goal(percent <= MAX_GROWTH, text);
    Ok(part)
}

fn sample_memory(subject: &FuzzSubject, time: Duration) -> Result<Vec<f64>> {
    let mut vouch = Command::new(vouch_binary());
    vouch.arg("fuzz").arg(subject.build_path()).args(["--contract", &subject.contract, "--json"]);
    vouch.args(["--workers", "1", "--seed", "1", "--test-limit", "1000000000000"]);
    vouch.current_dir(&subject.folder);
    let (server, _input, _output) = ServerProcess::start_stdio(&mut vouch)?;
    let pause = time / SAMPLES;
    let begin = Instant::now();
    let mut samples = Vec::new();
    for number in 1..=SAMPLES {
        sleep((pause * number).saturating_sub(begin.elapsed()));
        samples.push(server.resident_mb().context("the campaign ended early")?);
    }
    Ok(samples)
}

fn compute_growth(samples: &[f64]) -> Option<MemoryGrowth> {
    let tenth = (samples.len() / 10).max(1);
    let fifth = samples.len() / 5;
    let early = median(samples.get(fifth..fifth + tenth)?)?;
    let late = median(samples.get(samples.len() - tenth..)?)?;
    Some(MemoryGrowth {
        first: *samples.first()?,
        early,
        late,
        most: samples.iter().copied().fold(0.0, f64::max),
        percent: (late / early - 1.0) * 100.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_third_tenth_with_last_tenth() {
        let mut samples = vec![50.0; 100];
        samples[..20].fill(10.0);
        samples[95] = 70.0;
        let wanted =
            MemoryGrowth { first: 10.0, early: 50.0, late: 50.0, most: 70.0, percent: 0.0 };
        assert_eq!(compute_growth(&samples), Some(wanted));
        samples[90..].fill(60.0);
        assert_eq!(compute_growth(&samples).map(|it| it.percent.round()), Some(20.0));
        assert_eq!(compute_growth(&[]), None);
    }
}
