//! `grep_codebase` next to ripgrep: the same pattern on the same tree, without and with the index.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::trees::SearchTree;
use super::{ContextArgs, ContextReport, VouchServer, median, to_ms};
use crate::peers::SearchPeers;

use crate::dist::binary_path;

/// Patterns from rare to ubiquitous. True: the index must be faster.
const PATTERNS: [(&str, bool); 8] = [
    ("ResolveFlags::BENEATH", true),
    ("constant_time_compare", true),
    (r"fn\s+is_hidden\b", true),
    (r"class \w+CsrfViewMiddleware", true),
    ("unlikely_word_that_nobody_wrote", true),
    (r"(return|break)\s+None", false),
    (r"\w+_\w+\(", false),
    ("e", false),
];

pub(super) fn measure_grep(
    peers: &SearchPeers,
    tree: &SearchTree,
    args: &ContextArgs,
    report: &mut ContextReport,
) -> Result<()> {
    let rg = peers.ripgrep();
    let mut indexed = VouchServer::start(tree, "")?;
    super::search::wait_until_built(&mut indexed)?;
    report.add_table(
        &format!("`grep_codebase`, {}", tree.name),
        "| pattern | lines | ripgrep ms | without index ms | ratio | with index ms | ratio |",
    );
    for (pattern, selective) in PATTERNS {
        let arguments = json!({"pattern": pattern, "caseSensitive": true, "limit": 50});
        let (mut theirs, mut without, mut with) = (Vec::new(), Vec::new(), Vec::new());
        let mut lines = [0; 3];
        for _ in 0..args.rounds {
            let (time, count) = time_ripgrep(&rg, pattern, &tree.path)?;
            theirs.push(time);
            lines[0] = count;
            let (time, count) = time_plain_grep(pattern, &tree.path)?;
            without.push(time);
            lines[1] = count;
            let (time, answer) = indexed.call("grep_codebase", &arguments)?;
            with.push(time);
            lines[2] = read_total(&answer)?;
        }
        ensure!(lines[0] == lines[1] && lines[1] == lines[2], "`{pattern}`: {lines:?} lines");
        let (theirs, without, with) = (median(theirs), median(without), median(with));
        let slower = to_ms(without) / to_ms(theirs);
        let faster = to_ms(theirs) / to_ms(with);
        report.add_row(format!(
            "| `{}` | {} | {:.1} | {:.1} | {slower:.2} | {:.1} | {:.2} |",
            pattern.replace('|', "\\|"),
            lines[0],
            to_ms(theirs),
            to_ms(without),
            to_ms(with),
            to_ms(with) / to_ms(theirs),
        ));
        let name = tree.name;
        let text =
            format!("grep `{pattern}` on {name} without index: {slower:.2} × ripgrep (goal 1.1)");
        report.add_goal(slower <= 1.1, &text);
        if selective && tree.is_big {
            let text =
                format!("grep `{pattern}` on {name} with index: {faster:.1} × faster (goal 10)");
            report.add_goal(faster >= 10.0, &text);
        } else {
            let ratio = 1.0 / faster;
            let text =
                format!("grep `{pattern}` on {name} with index: {ratio:.2} × ripgrep (goal 1.2)");
            report.add_goal(ratio <= 1.2, &text);
        }
    }
    Ok(())
}

fn read_total(answer: &Value) -> Result<u64> {
    answer["totalMatches"].as_u64().with_context(|| format!("no total in {answer}"))
}

/// Times a search without an index, in a process of its own like ripgrep.
fn time_plain_grep(pattern: &str, tree: &Path) -> Result<(Duration, u64)> {
    let mut command = Command::new(binary_path("plain_grep"));
    command.arg(tree).args([pattern, "1"]);
    let before = Instant::now();
    let output = command.output().context("failed to start plain_grep")?;
    let elapsed = before.elapsed();
    let [_, lines]: [u64; 2] = serde_json::from_slice(&output.stdout)
        .context("failed to parse the output of plain_grep")?;
    Ok((elapsed, lines))
}

/// Times ripgrep with line numbers and two lines of context. Matches are counted in a second run.
fn time_ripgrep(rg: &Path, pattern: &str, tree: &Path) -> Result<(Duration, u64)> {
    // Excludes what vouch never searches.
    let hidden = ["dist", "build", "node_modules", ".next", ".context", ".vouch"]
        .map(|name| format!("--glob=!**/{name}/**"));
    let denied = [".env*", "*secret*", "*credential*", "*.key", "*.pem"]
        .map(|name| format!("--iglob=!{name}"));
    let mut command = Command::new(rg);
    command.args(["--line-number", "--context=2", "--no-messages", "--no-config"]);
    command.args(&hidden).args(&denied).args(["-e", pattern]).current_dir(tree);
    let before = Instant::now();
    command.stdout(Stdio::null()).status().context("failed to start ripgrep")?;
    let elapsed = before.elapsed();
    let mut count = Command::new(rg);
    count.args(["--count", "--no-messages", "--no-filename", "--no-config"]);
    count.args(&hidden).args(&denied).args(["-e", pattern]).current_dir(tree);
    let output = count.output()?;
    let lines = String::from_utf8_lossy(&output.stdout);
    Ok((elapsed, lines.lines().filter_map(|line| line.parse::<u64>().ok()).sum()))
}
