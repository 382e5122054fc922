//! A self-contained HTML page: no external script, style sheet or font.

use std::fmt::{self, Write as _};

use solidity::SolidityBuild;

use crate::report::{BranchOutcome, CoverageRatio, CoverageReport, FileReport};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// Returns the report as an HTML page.
pub fn render_html(report: &CoverageReport, build: &SolidityBuild) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    write_page(&mut page, report, build).unwrap_or_default();
    page
}

fn write_page(page: &mut String, report: &CoverageReport, build: &SolidityBuild) -> fmt::Result {
    let (lines, branches) = report.totals();
    write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Coverage</title>\n<style>\n{STYLE}</style>\n\
         <header><h1>Coverage</h1><p>{} · {}</p>\n\
         <input type=\"search\" id=\"filter\" placeholder=\"Find a file\" aria-label=\"Find a file\">\n\
         </header>\n<main>\n",
        format_ratio(lines, "lines"),
        format_ratio(branches, "branches"),
    )?;
    write_contracts(page, report)?;
    for file in &report.files {
        let source = build.sources.iter().find(|source| source.path == file.path);
        write_file(page, file, source.map_or("", |source| &source.text))?;
    }
    writeln!(page, "</main>\n<script>\n{SCRIPT}</script>\n</html>")
}

fn write_contracts(page: &mut String, report: &CoverageReport) -> fmt::Result {
    writeln!(page, "<table><tr><th>Contract<th>Lines<th>Branches")?;
    for contract in &report.contracts {
        let name = format!("{}:{}", contract.source, contract.name);
        let (lines, branches) = (render_bar(contract.lines), render_bar(contract.branches));
        writeln!(page, "<tr><td>{}<td>{lines}<td>{branches}", HtmlEscaped(&name))?;
    }
    writeln!(page, "</table>")
}

fn write_file(page: &mut String, file: &FileReport, source: &str) -> fmt::Result {
    let (lines, branches) = (render_bar(file.line_ratio()), render_bar(file.branch_ratio()));
    let path = HtmlEscaped(&file.path);
    writeln!(page, "<details><summary><b>{path}</b>{lines}{branches}</summary>")?;
    page.push_str("<pre>");
    for (number, line) in (1..).zip(source.lines()) {
        let count = file.lines.get(&number);
        let half = file.branches_on(number).any(|branch| branch.is_half_taken());
        let class = match count {
            None => "",
            Some(0) => "miss",
            Some(_) if half => "half",
            Some(_) => "hit",
        };
        let count = count.map(u64::to_string).unwrap_or_default();
        let title = branch_title(file, number);
        write!(page, "<span class=\"{class}\"{title}><i>{number}</i><i>{count}</i>")?;
        // No line break: each line is a block element, and line breaks are visible inside `pre`.
        write!(page, "<code>{}</code></span>", HtmlEscaped(line))?;
    }
    writeln!(page, "</pre></details>")
}

/// Returns the `title` attribute of a line with decisions: the counts of their outcomes.
fn branch_title(file: &FileReport, line: u32) -> String {
    let each = file.branches_on(line).map(|branch| {
        let [yes, no] = branch.outcomes.map(format_outcome);
        format!("true: {yes}, false: {no}")
    });
    let all: Vec<String> = each.collect();
    if all.is_empty() { String::new() } else { format!(" title=\"{}\"", all.join("; ")) }
}

fn format_outcome(outcome: BranchOutcome) -> String {
    match outcome {
        BranchOutcome { count: Some(count), .. } => format!("{count} ×"),
        BranchOutcome { seen: true, .. } => "yes".to_owned(),
        BranchOutcome { seen: false, .. } => "never".to_owned(),
    }
}

fn render_bar(ratio: CoverageRatio) -> String {
    let Some(percent) = ratio.percent() else {
        return "<span class=\"none\">–</span>".to_owned();
    };
    format!(
        "<span class=\"bar\"><meter min=\"0\" max=\"100\" value=\"{percent:.1}\"></meter>\
         {percent:.1} % <small>{}/{}</small></span>",
        ratio.hit, ratio.found
    )
}

fn format_ratio(ratio: CoverageRatio, noun: &str) -> String {
    match ratio.percent() {
        Some(percent) => format!("{percent:.1} % of {} {noun}", ratio.found),
        None => format!("no {noun}"),
    }
}

/// Escapes text for HTML.
struct HtmlEscaped<'a>(&'a str);

impl fmt::Display for HtmlEscaped<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '<' => formatter.write_str("&lt;"),
            '>' => formatter.write_str("&gt;"),
            '&' => formatter.write_str("&amp;"),
            '"' => formatter.write_str("&quot;"),
            '\'' => formatter.write_str("&#39;"),
            c if c.is_control() && c != '\t' => formatter.write_char('\u{fffd}'),
            c => formatter.write_char(c),
        })
    }
}
