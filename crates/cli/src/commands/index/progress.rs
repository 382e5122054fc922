//! Progress of the index build on standard error: a bar on a terminal, occasional lines elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pack_context::IndexProgress;
use parking_lot::Mutex;

use crate::ui::{self, Ui};

/// Progress between two lines without a terminal, in percent.
const STEP_PERCENT: usize = 10;

/// Prints the progress of an index build.
pub(super) enum IndexProgressReporter {
    Bar(ProgressBar),
    Lines { ui: Ui, last: Mutex<Option<(&'static str, usize)>> },
}

impl IndexProgressReporter {
    pub(super) fn new(ui: Ui) -> Self {
        if ui.is_quiet() || !ui::is_stderr_terminal() {
            return Self::Lines { ui, last: Mutex::default() };
        }
        let target = ProgressDrawTarget::stderr();
        let bar = ProgressBar::with_draw_target(None, target).with_style(spinner_style());
        bar.enable_steady_tick(std::time::Duration::from_millis(100));
        Self::Bar(bar)
    }

    pub(super) fn show_progress(&self, progress: IndexProgress) {
        let (phase, done, all) = match progress {
            IndexProgress::Listing { files } => ("listing", files, None),
            IndexProgress::Analyzing { done, all } => ("reading", done, Some(all)),
            IndexProgress::Embedding { done, all } => ("embedding", done, Some(all)),
        };
        match self {
            Self::Bar(bar) => {
                if bar.message() != phase {
                    bar.set_message(phase);
                    bar.set_style(if all.is_some() { bar_style() } else { spinner_style() });
                    bar.reset_eta();
                }
                if let Some(all) = all {
                    bar.set_length(all as u64);
                }
                bar.set_position(done as u64);
            }
            Self::Lines { ui, last } => {
                let step = all
                    .map_or(0, |all| (done * 100).checked_div(all).unwrap_or(100) / STEP_PERCENT);
                let mut last = last.lock();
                if last.replace((phase, step)) != Some((phase, step)) {
                    match all {
                        Some(all) => ui.print_note(format_args!("{phase}: {done} of {all}")),
                        None => ui.print_note(format_args!("{phase}: {done} files")),
                    }
                }
            }
        }
    }

    pub(super) fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn spinner_style() -> ProgressStyle {
    parse_style("{spinner} {msg} {pos}")
}

fn bar_style() -> ProgressStyle {
    parse_style("{spinner} {msg:9} {wide_bar} {pos}/{len} {eta}")
}

fn parse_style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the built-in templates are valid")
}
