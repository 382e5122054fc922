//! Terminal output: the only module that writes to standard output and standard error.
//!
//! Results go to standard output, everything else to standard error. Color never carries information of its own.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use app::context::NoticeSink;
use app::failure::Failure;
use app::trust::FolderTrust;
use clap::ValueEnum;
use serde::Serialize;

use crate::commands::trust::confirm_folder;
use crate::report::print_failure;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default();

/// Value of `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorMode {
    /// If the stream is a terminal and NO_COLOR is not set
    #[default]
    Auto,
    Always,
    Never,
}

/// Handle to the output streams, with the `--color` and `--quiet` settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ui {
    color: ColorMode,
    quiet: bool,
}

impl Ui {
    pub(crate) fn new(color: ColorMode, quiet: bool) -> Self {
        Self { color, quiet }
    }

    fn color_choice<S: anstream::stream::RawStream>(self, stream: &S) -> ColorChoice {
        match self.color {
            ColorMode::Always => ColorChoice::AlwaysAnsi,
            ColorMode::Never => ColorChoice::Never,
            // Takes the terminal, NO_COLOR, CLICOLOR and TERM into account.
            ColorMode::Auto => AutoStream::choice(stream),
        }
    }

    pub(crate) fn stderr_uses_color(self) -> bool {
        self.color_choice(&io::stderr()) != ColorChoice::Never
    }

    pub(crate) fn stdout_uses_color(self) -> bool {
        self.color_choice(&io::stdout()) != ColorChoice::Never
    }

    /// Returns standard output, for results.
    pub(crate) fn stdout(self) -> impl Write {
        let stdout = io::stdout();
        let choice = self.color_choice(&stdout);
        AutoStream::new(stdout, choice)
    }

    /// Returns standard error, for everything else. It is locked until dropped, so that lines of threads do not mix.
    pub(crate) fn stderr(self) -> impl Write {
        let stderr = io::stderr();
        let choice = self.color_choice(&stderr);
        AutoStream::new(stderr.lock(), choice)
    }

    /// Prints a remark to standard error, unless `--quiet` is set. Write errors are ignored.
    pub(crate) fn print_note(self, text: impl std::fmt::Display) {
        if !self.quiet {
            let _ = writeln!(self.stderr(), "{text}");
        }
    }

    /// Returns a copy that is also quiet if `quiet` is true.
    pub(crate) fn quiet_if(self, quiet: bool) -> Self {
        Self { quiet: self.quiet || quiet, ..self }
    }

    pub(crate) fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Prints a value to standard output as indented JSON.
    pub(crate) fn print_json(self, value: &impl Serialize) -> io::Result<()> {
        // Serializing does not fail for the values of this crate; writing may.
        let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        writeln!(self.stdout(), "{text}")
    }
}

impl NoticeSink for Ui {
    fn note(&self, text: fmt::Arguments<'_>) {
        Ui::print_note(*self, text);
    }

    fn warn(&self, text: fmt::Arguments<'_>) {
        print_warning(*self, text);
    }

    fn report(&self, failure: &Failure) {
        print_failure(*self, failure);
    }

    fn confirm_trust(&self, trust: &FolderTrust) -> bool {
        is_interactive() && confirm_folder(*self, trust).unwrap_or(false)
    }
}

/// Returns a path for messages. The name of a folder may contain escape sequences, which a clone chose.
pub(crate) fn format_path(path: &Path) -> String {
    contract::text::one_line(&path.to_string_lossy())
}

/// Labels that begin our own lines on standard error.
const LABELS: [&str; 5] = ["error:", "warning:", "why:", "hint:", "note:"];

/// Returns the text of a message that may quote files, programs and names of folders. Hidden characters are escaped, and a
/// line that begins like one of ours is marked: a folder can be called "a\nhint: run this".
pub(crate) fn format_message(text: &str) -> String {
    let text = contract::text::escape_hidden(text);
    let mut lines = text.split('\n');
    let mut out = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let is_label = LABELS.iter().any(|label| line.trim_start().starts_with(label));
        out.push_str(if is_label { "\n| " } else { "\n" });
        out.push_str(line);
    }
    out
}

/// Prints a warning to standard error, unless `--quiet` is set.
pub(crate) fn print_warning(ui: Ui, text: impl fmt::Display) {
    let text = format_message(&text.to_string());
    ui.print_note(format_args!("{WARN}warning:{WARN:#} {text}"));
}

pub(crate) fn is_stdout_terminal() -> bool {
    io::stdout().is_terminal()
}

pub(crate) fn is_stderr_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Returns true if a prompt can be shown and answered: standard input and standard error are terminals.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && is_stderr_terminal()
}

/// Returns true if this process is in the foreground of its terminal. A background process is stopped when it changes
/// the terminal's settings.
pub(crate) fn is_in_foreground() -> bool {
    // A terminal that does not control the session has no foreground group and stops no process.
    rustix::termios::tcgetpgrp(io::stdin())
        .map_or(true, |group| group == rustix::process::getpgrp())
}

/// Table of text columns, each as wide as its widest cell. The first row is the header.
pub(crate) struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(crate) fn new<const N: usize>(head: [&str; N]) -> Self {
        Self { rows: vec![head.map(str::to_owned).to_vec()] }
    }

    pub(crate) fn add_row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }

    pub(crate) fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<_> = (0..columns).map(width).collect();
        for (index, row) in self.rows.iter().enumerate() {
            let style = if index == 0 { BOLD } else { Style::new() };
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&format!("{cell:width$}  "));
            }
            writeln!(out, "{style}{}{style:#}", line.trim_end())?;
        }
        Ok(())
    }
}
