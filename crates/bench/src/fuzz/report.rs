//! What is printed at the end: a table and the goals of each part, as Markdown or as JSON.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};

/// Everything that one run measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) cores: usize,
    /// Peers and data that were not there, with the reason.
    pub(crate) missing: Vec<String>,
    pub(crate) parts: Vec<Part>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Part {
    pub(crate) title: String,
    /// Of the last minute, when the part began: figures of a busy machine mean less.
    pub(crate) load_average: f64,
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Peers that did not run here, with the reason.
    pub(crate) failures: Vec<String>,
    pub(crate) goals: Vec<Goal>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Goal {
    pub(crate) is_met: bool,
    pub(crate) text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Text(String),
    /// With so many digits after the point.
    Number(f64, usize),
    /// It was not measured, or means nothing here.
    Empty,
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }

    /// A whole number.
    pub(crate) fn count(value: f64) -> Self {
        Cell::Number(value, 0)
    }

    pub(crate) fn optional(value: Option<f64>, digits: usize) -> Self {
        value.map_or(Cell::Empty, |value| Cell::Number(value, digits))
    }

    fn shown(&self) -> String {
        match self {
            Cell::Text(text) => text.replace('|', "\\|"),
            Cell::Number(value, 0) => grouped(*value),
            Cell::Number(value, digits) => format!("{value:.digits$}"),
            Cell::Empty => String::new(),
        }
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Number(value, _) => serializer.serialize_f64(*value),
            Cell::Empty => serializer.serialize_none(),
        }
    }
}

impl Part {
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

    /// Adds a row, and shows it at once: a run takes long.
    pub(crate) fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        let cells = cells.into();
        eprintln!("  {}", line(&cells.iter().map(Cell::shown).collect::<Vec<_>>()));
        self.rows.push(cells);
    }

    /// A row that says that there are no figures; a peer that fails does not end the run.
    pub(crate) fn failed(&mut self, subject: &str, tool: &str, why: &str) {
        let mut row = vec![Cell::text(subject), Cell::text(tool), Cell::text("not measured")];
        row.resize(self.columns.len(), Cell::Empty);
        self.row(row);
        self.failures.push(format!("{tool} on {subject}: {why}"));
    }

    pub(crate) fn goal(&mut self, is_met: bool, text: String) {
        self.goals.push(Goal { is_met, text });
    }

    fn markdown(&self) -> String {
        let mut out = format!("{} (load average {:.2})\n\n", self.title, self.load_average);
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(Cell::shown).collect()).collect();
        let is_number = |column: usize| {
            self.rows.iter().any(|row| matches!(row.get(column), Some(Cell::Number(..))))
        };
        let columns: Vec<String> = self.columns.iter().map(ToString::to_string).collect();
        out.push_str(&line(&columns));
        out.push_str("\n|");
        for column in 0..self.columns.len() {
            out.push_str(if is_number(column) { "---:|" } else { "---|" });
        }
        for row in &rows {
            out.push('\n');
            out.push_str(&line(row));
        }
        out.push('\n');
        for failure in &self.failures {
            writeln!(out, "\nnot measured: {failure}").expect("writing to a string never fails");
        }
        out
    }
}

impl Report {
    pub(crate) fn markdown(&self) -> String {
        let mut out = format!("{} cores\n\n", self.cores);
        for part in &self.parts {
            out.push_str(&part.markdown());
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

fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// The value in the middle; of an even number of values the mean of the two there.
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

/// With a comma between thousands.
fn grouped(value: f64) -> String {
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

    fn report() -> Report {
        let mut part = Part::new("Rates", 0.5, &["target", "tool", "calls/s", "ratio"]);
        part.row([
            Cell::text("a|b"),
            Cell::text("vouch"),
            Cell::count(1234567.8),
            Cell::Number(1.25, 2),
        ]);
        part.row([Cell::text("a|b"), Cell::text("forge"), Cell::count(999.0), Cell::Empty]);
        part.failed("a|b", "Echidna", "it could not run");
        part.goal(true, "fast".to_owned());
        part.goal(false, "faster".to_owned());
        Report { cores: 2, missing: vec!["forge: no network".to_owned()], parts: vec![part] }
    }

    #[test]
    fn people_get_tables_and_goals() {
        insta::assert_snapshot!(report().markdown(), @r"
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
    fn programs_get_numbers() {
        insta::assert_snapshot!(serde_json::to_string(&report()).unwrap(), @r#"{"cores":2,"missing":["forge: no network"],"parts":[{"title":"Rates","load_average":0.5,"columns":["target","tool","calls/s","ratio"],"rows":[["a|b","vouch",1234567.8,1.25],["a|b","forge",999.0,null],["a|b","Echidna","not measured",null]],"failures":["Echidna on a|b: it could not run"],"goals":[{"is_met":true,"text":"fast"},{"is_met":false,"text":"faster"}]}]}"#);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(
            [0.0, 12.0, 1234.0, -1234567.0].map(grouped),
            ["0", "12", "1,234", "-1,234,567"]
        );
    }
}
