//! One page that needs nothing else: no script, style or font from elsewhere.

use std::fmt::{self, Write as _};

use solidity::Build;

use crate::report::{FileReport, Outcome, Ratio, Report};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// The whole report as a page.
pub fn html(report: &Report, build: &Build) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    write_page(&mut page, report, build).unwrap_or_default();
    page
}

fn write_page(page: &mut String, report: &Report, build: &Build) -> fmt::Result {
    let (lines, branches) = report.totals();
    write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Coverage</title>\n<style>\n{STYLE}</style>\n\
         <header><h1>Coverage</h1><p>{} · {}</p>\n\
         <input type=\"search\" id=\"filter\" placeholder=\"Find a file\" aria-label=\"Find a file\">\n\
         </header>\n<main>\n",
        worded(lines, "lines"),
        worded(branches, "branches"),
    )?;
    write_contracts(page, report)?;
    for file in &report.files {
        let source = build.sources.iter().find(|source| source.path == file.path);
        write_file(page, file, source.map_or("", |source| &source.text))?;
    }
    writeln!(page, "</main>\n<script>\n{SCRIPT}</script>\n</html>")
}

fn write_contracts(page: &mut String, report: &Report) -> fmt::Result {
    writeln!(page, "<table><tr><th>Contract<th>Lines<th>Branches")?;
    for contract in &report.contracts {
        let name = format!("{}:{}", contract.source, contract.name);
        let (lines, branches) = (bar(contract.lines), bar(contract.branches));
        writeln!(page, "<tr><td>{}<td>{lines}<td>{branches}", Escaped(&name))?;
    }
    writeln!(page, "</table>")
}

fn write_file(page: &mut String, file: &FileReport, source: &str) -> fmt::Result {
    let (lines, branches) = (bar(file.line_ratio()), bar(file.branch_ratio()));
    let path = Escaped(&file.path);
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
        // No line break: each line is a block already, and breaks count inside `pre`.
        write!(page, "<code>{}</code></span>", Escaped(line))?;
    }
    writeln!(page, "</pre></details>")
}

/// What the pointer shows over a line with decisions.
fn branch_title(file: &FileReport, line: u32) -> String {
    let each = file.branches_on(line).map(|branch| {
        let [yes, no] = branch.outcomes.map(worded_outcome);
        format!("true: {yes}, false: {no}")
    });
    let all: Vec<String> = each.collect();
    if all.is_empty() { String::new() } else { format!(" title=\"{}\"", all.join("; ")) }
}

fn worded_outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome { count: Some(count), .. } => format!("{count} ×"),
        Outcome { seen: true, .. } => "yes".to_owned(),
        Outcome { seen: false, .. } => "never".to_owned(),
    }
}

fn bar(ratio: Ratio) -> String {
    let Some(percent) = ratio.percent() else {
        return "<span class=\"none\">–</span>".to_owned();
    };
    format!(
        "<span class=\"bar\"><meter min=\"0\" max=\"100\" value=\"{percent:.1}\"></meter>\
         {percent:.1} % <small>{}/{}</small></span>",
        ratio.hit, ratio.found
    )
}

fn worded(ratio: Ratio, what: &str) -> String {
    match ratio.percent() {
        Some(percent) => format!("{percent:.1} % of {} {what}", ratio.found),
        None => format!("no {what}"),
    }
}

/// Text that cannot become markup.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
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
