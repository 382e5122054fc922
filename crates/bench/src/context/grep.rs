//! `grep_codebase` beside ripgrep: the same pattern on the same tree, without and with the index.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::trees::Tree;
use super::{Args, Report, Vouch, median, ms};
use crate::peers::Peers;

use crate::dist::binary_path;

/// What people look for, from the rare to the everywhere. True: the index must pay.
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

pub(super) fn run(peers: &Peers, tree: &Tree, args: &Args, report: &mut Report) -> Result<()> {
    let rg = peers.ripgrep();
    let mut indexed = Vouch::start(tree, "")?;
    super::search::wait_until_built(&mut indexed)?;
    report.table(
        &format!("`grep_codebase`, {}", tree.name),
        "| pattern | lines | ripgrep ms | without index ms | ratio | with index ms | ratio |",
    );
    for (pattern, selective) in PATTERNS {
        let arguments = json!({"pattern": pattern, "caseSensitive": true, "limit": 50});
        let (mut theirs, mut without, mut with) = (Vec::new(), Vec::new(), Vec::new());
        let mut lines = [0; 3];
        for _ in 0..args.rounds {
            let (time, count) = ripgrep(&rg, pattern, &tree.path)?;
            theirs.push(time);
            lines[0] = count;
            let (time, count) = plain(pattern, &tree.path)?;
            without.push(time);
            lines[1] = count;
            let (time, answer) = indexed.call("grep_codebase", &arguments)?;
            with.push(time);
            lines[2] = total(&answer)?;
        }
        ensure!(lines[0] == lines[1] && lines[1] == lines[2], "`{pattern}`: {lines:?} lines");
        let (theirs, without, with) = (median(theirs), median(without), median(with));
        let slower = ms(without) / ms(theirs);
        let faster = ms(theirs) / ms(with);
        report.row(format!(
            "| `{}` | {} | {:.1} | {:.1} | {slower:.2} | {:.1} | {:.2} |",
            pattern.replace('|', "\\|"),
            lines[0],
            ms(theirs),
            ms(without),
            ms(with),
            ms(with) / ms(theirs),
        ));
        let name = tree.name;
        let text =
            format!("grep `{pattern}` on {name} without index: {slower:.2} × ripgrep (goal 1.1)");
        report.goal(slower <= 1.1, &text);
        if selective && tree.is_big {
            let text =
                format!("grep `{pattern}` on {name} with index: {faster:.1} × faster (goal 10)");
            report.goal(faster >= 10.0, &text);
        } else {
            let ratio = 1.0 / faster;
            let text =
                format!("grep `{pattern}` on {name} with index: {ratio:.2} × ripgrep (goal 1.2)");
            report.goal(ratio <= 1.2, &text);
        }
    }
    Ok(())
}

fn total(answer: &Value) -> Result<u64> {
    answer["totalMatches"].as_u64().with_context(|| format!("no total in {answer}"))
}

/// A process for each search, as ripgrep is.
fn plain(pattern: &str, tree: &Path) -> Result<(Duration, u64)> {
    let mut command = Command::new(binary_path("plain_grep"));
    command.arg(tree).args([pattern, "1"]);
    let before = Instant::now();
    let output = command.output().context("starting plain_grep")?;
    let elapsed = before.elapsed();
    let [_, lines]: [u64; 2] =
        serde_json::from_slice(&output.stdout).context("reading what plain_grep found")?;
    Ok((elapsed, lines))
}

/// The fastest of ripgrep's ways to show lines with their numbers and two lines around; the count is taken apart.
fn ripgrep(rg: &Path, pattern: &str, tree: &Path) -> Result<(Duration, u64)> {
    // What vouch never searches is taken out here as well.
    let hidden = ["dist", "build", "node_modules", ".next", ".context", ".vouch"]
        .map(|name| format!("--glob=!**/{name}/**"));
    let denied = [".env*", "*secret*", "*credential*", "*.key", "*.pem"]
        .map(|name| format!("--iglob=!{name}"));
    let mut command = Command::new(rg);
    command.args(["--line-number", "--context=2", "--no-messages", "--no-config"]);
    command.args(&hidden).args(&denied).args(["-e", pattern]).current_dir(tree);
    let before = Instant::now();
    command.stdout(Stdio::null()).status().context("starting ripgrep")?;
    let elapsed = before.elapsed();
    let mut count = Command::new(rg);
    count.args(["--count", "--no-messages", "--no-filename", "--no-config"]);
    count.args(&hidden).args(&denied).args(["-e", pattern]).current_dir(tree);
    let output = count.output()?;
    let lines = String::from_utf8_lossy(&output.stdout);
    Ok((elapsed, lines.lines().filter_map(|line| line.parse::<u64>().ok()).sum()))
}
