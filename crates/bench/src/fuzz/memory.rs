//! Whether a long campaign needs more and more memory.
//!
//! *Flat* means: the resident memory of the last tenth of the time is at most 5 % above that of the tenth that begins
//! after a fifth of it, by their medians. In ten minutes these are the last minute and the third: before that the corpus
//! still grows quickly.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::report::{Cell, Part, median};
use super::subjects::Subject;
use super::tools::vouch_binary;
use crate::process::Server;

const SAMPLES: u32 = 600;
const MAX_GROWTH: f64 = 5.0;

/// Resident memory in megabytes at moments of a campaign.
#[derive(Debug, PartialEq)]
struct Growth {
    first: f64,
    early: f64,
    late: f64,
    most: f64,
    percent: f64,
}

pub(super) fn run(subject: &Subject, minutes: f64, load: f64) -> Result<Part> {
    let time = Duration::try_from_secs_f64(minutes * 60.0).context("no time to run for")?;
    let growth = growth(&samples(subject, time)?).context("no time to run for")?;
    let columns = ["first MB", "after a fifth MB", "at the end MB", "most MB", "growth %"];
    let title = format!("Resident memory over {minutes} minutes on {}", subject.title);
    let mut part = Part::new(&title, load, &columns);
    let Growth { first, early, late, most, percent } = growth;
    part.row([first, early, late, most, percent].map(|figure| Cell::Number(figure, 1)));
    let text = format!(
        "memory grows by {percent:.1} % from a fifth of {minutes} minutes to their end (goal {MAX_GROWTH})"
    );
    part.goal(percent <= MAX_GROWTH, text);
    Ok(part)
}

fn samples(subject: &Subject, time: Duration) -> Result<Vec<f64>> {
    let mut vouch = Command::new(vouch_binary());
    vouch.arg("fuzz").arg(subject.build()).args(["--contract", &subject.contract, "--json"]);
    vouch.args(["--workers", "1", "--seed", "1", "--test-limit", "1000000000000"]);
    vouch.current_dir(&subject.folder);
    let (server, _input, _output) = Server::stdio(&mut vouch)?;
    let pause = time / SAMPLES;
    let begin = Instant::now();
    let mut samples = Vec::new();
    for number in 1..=SAMPLES {
        sleep((pause * number).saturating_sub(begin.elapsed()));
        samples.push(server.resident_mb().context("the campaign has ended early")?);
    }
    Ok(samples)
}

fn growth(samples: &[f64]) -> Option<Growth> {
    let tenth = (samples.len() / 10).max(1);
    let fifth = samples.len() / 5;
    let early = median(samples.get(fifth..fifth + tenth)?)?;
    let late = median(samples.get(samples.len() - tenth..)?)?;
    Some(Growth {
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
    fn growth_is_between_the_third_tenth_and_the_last() {
        let mut samples = vec![50.0; 100];
        samples[..20].fill(10.0);
        samples[95] = 70.0;
        let wanted = Growth { first: 10.0, early: 50.0, late: 50.0, most: 70.0, percent: 0.0 };
        assert_eq!(growth(&samples), Some(wanted));
        samples[90..].fill(60.0);
        assert_eq!(growth(&samples).map(|it| it.percent.round()), Some(20.0));
        assert_eq!(growth(&[]), None);
    }
}
