//! The table of a comparison, and the goals, each with the figure that meets or misses it.

use std::fmt::Write as _;

use super::front::Front;
use super::upstream::Upstream;

/// Microseconds that the median call may take longer than without a gateway.
const ADDED_GOAL: f64 = 200.0;
/// Microseconds of processor time for each call.
const CPU_GOAL: f64 = 300.0;

/// What one round showed: microseconds, and megabytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    pub(super) calls: usize,
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) cpu: f64,
    pub(super) resident: f64,
}

/// One row: the medians over the rounds.
pub(super) struct Row {
    upstream: Upstream,
    front: Front,
    median: Figures,
    /// Against the server itself in the same round.
    added_p50: f64,
    added_p99: f64,
}

impl Row {
    pub(super) fn new(
        upstream: Upstream,
        front: Front,
        rounds: &[Figures],
        direct: &[Figures],
    ) -> Self {
        let of = |pick: fn(&Figures) -> f64| middle(rounds.iter().map(pick));
        let added = |pick: fn(&Figures) -> f64| {
            middle(rounds.iter().zip(direct).map(|(with, without)| pick(with) - pick(without)))
        };
        Self {
            upstream,
            front,
            median: Figures {
                calls: rounds.iter().map(|round| round.calls).min().unwrap_or_default(),
                p50: of(|it| it.p50),
                p99: of(|it| it.p99),
                cpu: of(|it| it.cpu),
                resident: of(|it| it.resident),
            },
            added_p50: added(|it| it.p50),
            added_p99: added(|it| it.p99),
        }
    }

    fn name(&self) -> String {
        let door = self.front.door(self.upstream);
        format!("{} over {door} before {}", self.front.name(), self.upstream.name())
    }
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

pub(super) fn table(rows: &[Row]) -> String {
    let mut out = String::from(
        "| server | gateway | in front | calls | p50 µs | p99 µs | added p50 µs | added p99 µs | CPU µs/call | resident MB |\n\
         |---|---|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let Figures { calls, p50, p99, cpu, resident } = row.median;
        let front = row.front;
        write!(
            out,
            "| {} | {} | {} | {calls} | {p50:.0} | {p99:.0} |",
            row.upstream.name(),
            front.name(),
            front.door(row.upstream)
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

/// What is not there to be measured misses its goal.
pub(super) fn verdict(rows: &[Row]) -> String {
    let mut out = String::new();
    let ours: Vec<&Row> = rows.iter().filter(|row| matches!(row.front, Front::Vouch(_))).collect();
    if ours.is_empty() {
        out += &goal(false, "no figure of vouch gateway");
    }
    for row in ours {
        let name = row.name();
        let added = row.added_p50;
        out += &goal(
            added <= ADDED_GOAL,
            &format!("{name}: p50 {added:.0} µs longer (goal {ADDED_GOAL:.0})"),
        );
        let cpu = row.median.cpu;
        out +=
            &goal(cpu <= CPU_GOAL, &format!("{name}: CPU {cpu:.0} µs a call (goal {CPU_GOAL:.0})"));
        // A peer with another door in front does another work.
        let stdio = |row: &Row| row.front.door(row.upstream) == "stdio";
        let peers: Vec<&Row> = rows
            .iter()
            .filter(|it| {
                it.front.is_peer() && it.upstream == row.upstream && stdio(it) == stdio(row)
            })
            .collect();
        let below = |peer: &&&Row| added < peer.added_p50 && cpu < peer.median.cpu;
        let figures = |peer: &&Row| {
            let (added, cpu) = (peer.added_p50, peer.median.cpu);
            format!("{} {added:.0} µs and {cpu:.0} µs", peer.front.name())
        };
        if !peers.is_empty() {
            let all: Vec<_> = peers.iter().map(figures).collect();
            let met = peers.iter().filter(below).count() == peers.len();
            out += &goal(met, &format!("{name}: both below every peer ({})", all.join(", ")));
        }
    }
    out
}

pub(super) fn goal(met: bool, text: &str) -> String {
    format!("{} {text}\n", if met { "met   " } else { "MISSED" })
}

#[cfg(test)]
mod tests {
    use super::super::front::Door;
    use super::super::upstream::Kind;
    use super::*;

    const UPSTREAM: Upstream = Upstream { kind: Kind::Own, http: true };

    fn row(front: Front, p50: [f64; 3], cpu: f64) -> Row {
        let figures = |p50| Figures { calls: 100, p50, p99: 2.0 * p50, cpu, resident: 20.0 };
        let direct = [100.0, 300.0, 200.0].map(figures);
        Row::new(UPSTREAM, front, &p50.map(figures), &direct)
    }

    #[test]
    fn what_is_added_is_told_round_by_round() {
        // The slow round is slow for both: 50, 60 and 70 more, whatever their order.
        let rows = [
            row(Front::Direct, [100.0, 300.0, 200.0], 0.0),
            row(Front::Vouch(Door::Http), [150.0, 370.0, 260.0], 150.0),
            row(Front::McpProxy, [150.0, 350.0, 250.0], 400.0),
        ];
        insta::assert_snapshot!(format!("{}\n{}", table(&rows), verdict(&rows)), @"
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
    fn without_our_gateway_nothing_is_met() {
        let rows = [row(Front::Direct, [100.0; 3], 0.0), row(Front::FastMcp, [900.0; 3], 9.0)];
        assert_eq!(verdict(&rows), "MISSED no figure of vouch gateway\n");
    }
}
