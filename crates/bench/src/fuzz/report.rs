//! Output at the end: a table and the goals of each part, as Markdown or JSON.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};

/// All measurements of one run.
#[derive(Debug, Serialize)]
pub(crate) struct BenchReport {
    pub(crate) cores: usize,
    /// Missing peers and data, with the reason.
    pub(crate) missing: Vec<String>,
    pub(crate) parts: Vec<ReportPart>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ReportPart {
    pub(crate) title: String,
    /// Load average of the last minute when the part began: measurements on a busy machine mean less.
    pub(crate) load_average: f64,
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<TableCell>>,
    /// Peers that failed in this part, with the reason.
    pub(crate) failures: Vec<String>,
    pub(crate) goals: Vec<ReportGoal>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ReportGoal {
    pub(crate) is_met: bool,
    pub(crate) text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TableCell {
    Text(String),
    /// A value and its number of decimals.
    Number(f64, usize),
    /// Not measured, or not applicable.
    Empty,
}

impl TableCell {
    pub(crate) fn from_text(text: impl Into<String>) -> Self {
        TableCell::Text(text.into())
    }

    /// Returns a cell that shows a whole number.
    pub(crate) fn from_count(value: f64) -> Self {
        TableCell::Number(value, 0)
    }

    pub(crate) fn from_optional(value: Option<f64>, digits: usize) -> Self {
        value.map_or(TableCell::Empty, |value| TableCell::Number(value, digits))
    }

    fn to_text(&self) -> String {
        match self {
            TableCell::Text(text) => text.replace('|', "\\|"),
            TableCell::Number(value, 0) => group_thousands(*value),
            TableCell::Number(value, digits) => format!("{value:.digits$}"),
            TableCell::Empty => String::new(),
        }
    }
}

impl Serialize for TableCell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            TableCell::Text(text) => serializer.serialize_str(text),
            TableCell::Number(value, _) => serializer.serialize_f64(*value),
            TableCell::Empty => serializer.serialize_none(),
        }
    }
}

impl ReportPart {
    pub(crate) fn new(title: &str, load_average: f64, columns: &[&'static str]) -> Self {
        Self {
            title: title.to_owned(),
            load_average,
            columns: columns.to_vec(),
            rows: Vec::new(),
            failures: Vec::new(),
            goals: Vec::new(),
        }
    }

    /// Adds a row and prints it at once, because a run takes long.
    pub(crate) fn add_row(&mut self, cells: impl Into<Vec<TableCell>>) {
        let cells = cells.into();
        eprintln!("  {}", format_row(&cells.iter().map(TableCell::to_text).collect::<Vec<_>>()));
        self.rows.push(cells);
    }

    /// Adds a row without measurements. A peer that fails does not end the run.
    pub(crate) fn add_failure(&mut self, subject: &str, tool: &str, why: &str) {
        let mut row = vec![
            TableCell::from_text(subject),
            TableCell::from_text(tool),
            TableCell::from_text("not measured"),
        ];
        row.resize(self.columns.len(), TableCell::Empty);
        self.add_row(row);
        self.failures.push(format!("{tool} on {subject}: {why}"));
    }

    pub(crate) fn add_goal(&mut self, is_met: bool, text: String) {
        self.goals.push(ReportGoal { is_met, text });
    }

    fn to_markdown(&self) -> String {
        let mut out = format!("{} (load average {:.2})\n\n", self.title, self.load_average);
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(TableCell::to_text).collect()).collect();
        let is_number = |column: usize| {
            self.rows.iter().any(|row| matches!(row.get(column), Some(TableCell::Number(..))))
        };
        let columns: Vec<String> = self.columns.iter().map(ToString::to_string).collect();
        out.push_str(&format_row(&columns));
        out.push_str("\n|");
        for column in 0..self.columns.len() {
            out.push_str(if is_number(column) { "---:|" } else { "---|" });
        }
        for row in &rows {
            out.push('\n');
            out.push_str(&format_row(row));
        }
        out.push('\n');
        for failure in &self.failures {
            writeln!(out, "\nnot measured: {failure}").expect("writing to a string never fails");
        }
        out
    }
}

impl BenchReport {
    pub(crate) fn to_markdown(&self) -> String {
        let mut out = format!("{} cores\n\n", self.cores);
        for part in &self.parts {
            out.push_str(&part.to_markdown());
            out.push('\n');
        }
        for missing in &self.missing {
            writeln!(out, "missing {missing}").expect("writing to a string never fails");
        }
        for goal in self.parts.iter().flat_map(|part| &part.goals) {
            let verdict = if goal.is_met { "met   " } else { "MISSED" };
            writeln!(out, "{verdict} {}", goal.text).expect("writing to a string never fails");
        }
        out
    }
}

fn format_row(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// Returns the median; for an even number of values the mean of the middle two.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// Formats a whole number with a comma between thousands.
fn group_thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits.as_str()),
    };
    let mut out = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_report() -> BenchReport {
        let mut part = ReportPart::new("Rates", 0.5, &["target", "tool", "calls/s", "ratio"]);
        part.add_row([
            TableCell::from_text("a|b"),
            TableCell::from_text("vouch"),
            TableCell::from_count(1234567.8),
            TableCell::Number(1.25, 2),
        ]);
        part.add_row([
            TableCell::from_text("a|b"),
            TableCell::from_text("forge"),
            TableCell::from_count(999.0),
            TableCell::Empty,
        ]);
        part.add_failure("a|b", "Echidna", "it could not run");
        part.add_goal(true, "fast".to_owned());
        part.add_goal(false, "faster".to_owned());
        BenchReport { cores: 2, missing: vec!["forge: no network".to_owned()], parts: vec![part] }
    }

    #[test]
    fn markdown_has_tables_and_goals() {
        insta::assert_snapshot!(sample_report().to_markdown(), @r"
        2 cores

        Rates (load average 0.50)

        | target | tool | calls/s | ratio |
        |---|---|---:|---:|
        | a\|b | vouch | 1,234,568 | 1.25 |
        | a\|b | forge | 999 |  |
        | a\|b | Echidna | not measured |  |

        not measured: Echidna on a|b: it could not run

        missing forge: no network
        met    fast
        MISSED faster
        ");
    }

    #[test]
    fn json_has_numbers() {
        insta::assert_snapshot!(serde_json::to_string(&sample_report()).unwrap(), @r#"{"cores":2,"missing":["forge: no network"],"parts":[{"title":"Rates","load_average":0.5,"columns":["target","tool","calls/s","ratio"],"rows":[["a|b","vouch",1234567.8,1.25],["a|b","forge",999.0,null],["a|b","Echidna","not measured",null]],"failures":["Echidna on a|b: it could not run"],"goals":[{"is_met":true,"text":"fast"},{"is_met":false,"text":"faster"}]}]}"#);
    }

    #[test]
    fn median_averages_middle_values() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }

    #[test]
    fn groups_thousands() {
        assert_eq!(
            [0.0, 12.0, 1234.0, -1234567.0].map(group_thousands),
            ["0", "12", "1,234", "-1,234,567"]
        );
    }
}
