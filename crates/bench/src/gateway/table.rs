//! Formats the table of a comparison, and the goals, each with the measured value.

use std::fmt::Write as _;

use super::front::Front;
use super::upstream::Upstream;

/// Microseconds that the median call may take longer than without a gateway.
const ADDED_GOAL: f64 = 200.0;
/// Microseconds of processor time for each call.
const CPU_GOAL: f64 = 300.0;
/// Processor time of a call in relation to that of an earlier build.
const MAX_COST_RATIO: f64 = 1.05;

/// Measurements of one round, in microseconds and megabytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundFigures {
    pub(super) calls: usize,
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) cpu: f64,
    pub(super) resident: f64,
}

/// One row of the table: medians over the rounds.
pub(super) struct GatewayRow {
    upstream: Upstream,
    front: Front,
    median: RoundFigures,
    /// Difference to the direct call in the same round.
    added_p50: f64,
    added_p99: f64,
    /// Processor time in relation to that of the earlier build in the same round.
    cost: Option<CostRatio>,
}

/// Median and quartiles of a ratio over the rounds.
#[derive(Clone, Copy, Debug)]
struct CostRatio {
    median: f64,
    quartiles: (f64, f64),
}

impl CostRatio {
    fn new(after: &[RoundFigures], before: &[RoundFigures]) -> Self {
        let mut ratios: Vec<f64> =
            after.iter().zip(before).map(|(after, before)| after.cpu / before.cpu).collect();
        ratios.sort_by(f64::total_cmp);
        let quantile = |part: usize| ratios.get(ratios.len() * part / 4).copied();
        let [low, median, high] = [1, 2, 3].map(|part| quantile(part).unwrap_or(f64::NAN));
        Self { median, quartiles: (low, high) }
    }
}

impl GatewayRow {
    pub(super) fn new(
        upstream: Upstream,
        front: Front,
        rounds: &[RoundFigures],
        direct: &[RoundFigures],
        earlier: Option<&[RoundFigures]>,
    ) -> Self {
        let of = |pick: fn(&RoundFigures) -> f64| median(rounds.iter().map(pick));
        let added = |pick: fn(&RoundFigures) -> f64| {
            median(rounds.iter().zip(direct).map(|(with, without)| pick(with) - pick(without)))
        };
        Self {
            upstream,
            front,
            median: RoundFigures {
                calls: rounds.iter().map(|round| round.calls).min().unwrap_or_default(),
                p50: of(|it| it.p50),
                p99: of(|it| it.p99),
                cpu: of(|it| it.cpu),
                resident: of(|it| it.resident),
            },
            added_p50: added(|it| it.p50),
            added_p99: added(|it| it.p99),
            cost: earlier.map(|earlier| CostRatio::new(rounds, earlier)),
        }
    }

    fn name(&self) -> String {
        let transport = self.front.transport(self.upstream);
        format!("{} over {transport} before {}", self.front.name(), self.upstream.name())
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

pub(super) fn format_table(rows: &[GatewayRow]) -> String {
    let mut out = String::from(
        "| server | gateway | in front | calls | p50 µs | p99 µs | added p50 µs | added p99 µs | CPU µs/call | resident MB |\n\
         |---|---|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let RoundFigures { calls, p50, p99, cpu, resident } = row.median;
        let front = row.front;
        write!(
            out,
            "| {} | {} | {} | {calls} | {p50:.0} | {p99:.0} |",
            row.upstream.name(),
            front.name(),
            front.transport(row.upstream)
        )
        .expect("writing to a string never fails");
        let rest = if front == Front::Direct {
            " – | – | – | – |\n".to_owned()
        } else {
            format!(" {:.0} | {:.0} | {cpu:.0} | {resident:.1} |\n", row.added_p50, row.added_p99)
        };
        out.push_str(&rest);
    }
    out
}

/// Formats the goals. A goal without a measurement counts as missed.
pub(super) fn format_verdict(rows: &[GatewayRow]) -> String {
    let mut out = String::new();
    let ours: Vec<&GatewayRow> =
        rows.iter().filter(|row| matches!(row.front, Front::Vouch(_))).collect();
    if ours.is_empty() {
        out += &format_goal(false, "no measurement of vouch gateway");
    }
    for row in ours {
        let name = row.name();
        let added = row.added_p50;
        out += &format_goal(
            added <= ADDED_GOAL,
            &format!("{name}: p50 {added:.0} µs longer (goal {ADDED_GOAL:.0})"),
        );
        let cpu = row.median.cpu;
        out += &format_goal(
            cpu <= CPU_GOAL,
            &format!("{name}: CPU {cpu:.0} µs a call (goal {CPU_GOAL:.0})"),
        );
        if let Some(CostRatio { median, quartiles: (low, high) }) = row.cost {
            let text = format!(
                "{name}: CPU {median:.3} × the earlier build, quartiles {low:.3} and {high:.3} (goal {MAX_COST_RATIO})"
            );
            out += &format_goal(median <= MAX_COST_RATIO, &text);
        }
        // A peer with another transport in front does different work.
        let stdio = |row: &GatewayRow| row.front.transport(row.upstream) == "stdio";
        let peers: Vec<&GatewayRow> = rows
            .iter()
            .filter(|it| {
                it.front.is_peer() && it.upstream == row.upstream && stdio(it) == stdio(row)
            })
            .collect();
        let below = |peer: &&&GatewayRow| added < peer.added_p50 && cpu < peer.median.cpu;
        let figures = |peer: &&GatewayRow| {
            let (added, cpu) = (peer.added_p50, peer.median.cpu);
            format!("{} {added:.0} µs and {cpu:.0} µs", peer.front.name())
        };
        if !peers.is_empty() {
            let all: Vec<_> = peers.iter().map(figures).collect();
            let met = peers.iter().filter(below).count() == peers.len();
            out +=
                &format_goal(met, &format!("{name}: both below every peer ({})", all.join(", ")));
        }
    }
    out
}

pub(super) fn format_goal(met: bool, text: &str) -> String {
    format!("{} {text}\n", if met { "met   " } else { "MISSED" })
}

#[cfg(test)]
mod tests {
    use super::super::front::GatewayTransport;
    use super::super::upstream::UpstreamKind;
    use super::*;

    const UPSTREAM: Upstream = Upstream { kind: UpstreamKind::Own, http: true };

    fn build_row(front: Front, p50: [f64; 3], cpu: f64) -> GatewayRow {
        let figures = |p50| RoundFigures { calls: 100, p50, p99: 2.0 * p50, cpu, resident: 20.0 };
        let direct = [100.0, 300.0, 200.0].map(figures);
        GatewayRow::new(UPSTREAM, front, &p50.map(figures), &direct, None)
    }

    /// The processor time of a slow machine counts for both builds.
    #[test]
    fn compares_builds_in_each_round() {
        let figures = |cpu| RoundFigures { calls: 1, p50: 0.0, p99: 0.0, cpu, resident: 0.0 };
        let before = [100.0, 300.0, 100.0, 200.0].map(figures);
        let after = [90.0, 330.0, 80.0, 200.0].map(figures);
        let front = Front::Vouch(GatewayTransport::Http);
        let row = GatewayRow::new(UPSTREAM, front, &after, &before, Some(&before));
        let verdict = format_verdict(&[row]);
        assert!(
            verdict.contains("CPU 1.000 × the earlier build, quartiles 0.900 and 1.100"),
            "{verdict}"
        );
    }

    #[test]
    fn computes_added_time_per_round() {
        // The slow round is slow for both: 50, 60 and 70 more, whatever their order.
        let rows = [
            build_row(Front::Direct, [100.0, 300.0, 200.0], 0.0),
            build_row(Front::Vouch(GatewayTransport::Http), [150.0, 370.0, 260.0], 150.0),
            build_row(Front::McpProxy, [150.0, 350.0, 250.0], 400.0),
        ];
        insta::assert_snapshot!(format!("{}\n{}", format_table(&rows), format_verdict(&rows)), @"
        | server | gateway | in front | calls | p50 µs | p99 µs | added p50 µs | added p99 µs | CPU µs/call | resident MB |
        |---|---|---|---:|---:|---:|---:|---:|---:|---:|
        | vouch serve, HTTP | direct | HTTP | 100 | 200 | 400 | – | – | – | – |
        | vouch serve, HTTP | vouch gateway | HTTP | 100 | 260 | 520 | 60 | 120 | 150 | 20.0 |
        | vouch serve, HTTP | mcp-proxy | HTTP | 100 | 250 | 500 | 50 | 100 | 400 | 20.0 |

        met    vouch gateway over HTTP before vouch serve, HTTP: p50 60 µs longer (goal 200)
        met    vouch gateway over HTTP before vouch serve, HTTP: CPU 150 µs a call (goal 300)
        MISSED vouch gateway over HTTP before vouch serve, HTTP: both below every peer (mcp-proxy 50 µs and 400 µs)
        ");
    }

    #[test]
    fn misses_goal_without_our_gateway() {
        let rows =
            [build_row(Front::Direct, [100.0; 3], 0.0), build_row(Front::FastMcp, [900.0; 3], 9.0)];
        assert_eq!(format_verdict(&rows), "MISSED no measurement of vouch gateway\n");
    }
}
