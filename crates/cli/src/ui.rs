//! The terminal: the only place that writes to standard output and standard error.
//!
//! Standard output carries results, standard error everything else. Colour adds nothing that the words do not say.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use app::context::NoticeSink;
use app::failure::Failure;
use clap::ValueEnum;
use serde::Serialize;

use crate::report::print_failure;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default();

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// Where the stream is a terminal and NO_COLOR is not set
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Ui {
    color: Color,
    quiet: bool,
}

impl Ui {
    pub(crate) fn new(color: Color, quiet: bool) -> Self {
        Self { color, quiet }
    }

    fn choice<S: anstream::stream::RawStream>(self, stream: &S) -> ColorChoice {
        match self.color {
            Color::Always => ColorChoice::AlwaysAnsi,
            Color::Never => ColorChoice::Never,
            // `auto` asks the terminal, NO_COLOR, CLICOLOR and TERM.
            Color::Auto => AutoStream::choice(stream),
        }
    }

    pub(crate) fn colors_err(self) -> bool {
        self.choice(&io::stderr()) != ColorChoice::Never
    }

    pub(crate) fn colors_out(self) -> bool {
        self.choice(&io::stdout()) != ColorChoice::Never
    }

    /// For results.
    pub(crate) fn out(self) -> impl Write {
        let stdout = io::stdout();
        let choice = self.choice(&stdout);
        AutoStream::new(stdout, choice)
    }

    /// For everything else. Locked for as long as it lives, so that lines of threads do not mix.
    pub(crate) fn err(self) -> impl Write {
        let stderr = io::stderr();
        let choice = self.choice(&stderr);
        AutoStream::new(stderr.lock(), choice)
    }

    /// A remark that `--quiet` silences. There is nobody left to tell if writing fails.
    pub(crate) fn note(self, text: impl std::fmt::Display) {
        if !self.quiet {
            let _ = writeln!(self.err(), "{text}");
        }
    }

    /// The same, quiet if it was or if this is true.
    pub(crate) fn quieter(self, quiet: bool) -> Self {
        Self { quiet: self.quiet || quiet, ..self }
    }

    pub(crate) fn is_quiet(self) -> bool {
        self.quiet
    }

    pub(crate) fn json(self, value: &impl Serialize) -> io::Result<()> {
        // A value of ours always serialises; the stream may still be gone.
        let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        writeln!(self.out(), "{text}")
    }
}

impl NoticeSink for Ui {
    fn note(&self, text: fmt::Arguments<'_>) {
        Ui::note(*self, text);
    }

    fn warn(&self, text: fmt::Arguments<'_>) {
        warn(*self, text);
    }

    fn report(&self, failure: &Failure) {
        print_failure(*self, failure);
    }
}

/// Something that a person should know and that stops nothing.
pub(crate) fn warn(ui: Ui, text: impl fmt::Display) {
    let text = contract::text::visible(&text.to_string());
    ui.note(format_args!("{WARN}warning:{WARN:#} {text}"));
}

pub(crate) fn out_is_terminal() -> bool {
    io::stdout().is_terminal()
}

pub(crate) fn err_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Whether a person can be asked here.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && err_is_terminal()
}

/// Whether the terminal listens to this process. One in the background is stopped when it takes the terminal over.
pub(crate) fn is_in_foreground() -> bool {
    // A terminal that is not the one of the session has no foreground, and stops nobody.
    rustix::termios::tcgetpgrp(io::stdin())
        .map_or(true, |group| group == rustix::process::getpgrp())
}

/// Columns of text, each as wide as its widest cell; the last one runs free.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(head: [&str; N]) -> Self {
        Self { rows: vec![head.map(str::to_owned).to_vec()] }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }

    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
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
