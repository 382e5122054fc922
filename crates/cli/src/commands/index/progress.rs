//! How far the work has come: a bar on a terminal, a line now and then elsewhere. All on standard error.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pack_context::Progress;
use parking_lot::Mutex;

use crate::ui::{self, Ui};

/// Without a terminal a line appears whenever this much more is done, in percent.
const STEP: usize = 10;

pub(super) enum Reporter {
    Bar(ProgressBar),
    Lines { ui: Ui, last: Mutex<Option<(&'static str, usize)>> },
}

impl Reporter {
    pub(super) fn new(ui: Ui) -> Self {
        if ui.is_quiet() || !ui::err_is_terminal() {
            return Self::Lines { ui, last: Mutex::default() };
        }
        let target = ProgressDrawTarget::stderr();
        let bar = ProgressBar::with_draw_target(None, target).with_style(spinner());
        bar.enable_steady_tick(std::time::Duration::from_millis(100));
        Self::Bar(bar)
    }

    pub(super) fn show(&self, progress: Progress) {
        let (what, done, all) = match progress {
            Progress::Listing { files } => ("listing", files, None),
            Progress::Analysing { done, all } => ("reading", done, Some(all)),
            Progress::Embedding { done, all } => ("embedding", done, Some(all)),
        };
        match self {
            Self::Bar(bar) => {
                if bar.message() != what {
                    bar.set_message(what);
                    bar.set_style(if all.is_some() { counted() } else { spinner() });
                    bar.reset_eta();
                }
                if let Some(all) = all {
                    bar.set_length(all as u64);
                }
                bar.set_position(done as u64);
            }
            Self::Lines { ui, last } => {
                let step = all.map_or(0, |all| (done * 100).checked_div(all).unwrap_or(100) / STEP);
                let mut last = last.lock();
                if last.replace((what, step)) != Some((what, step)) {
                    match all {
                        Some(all) => ui.note(format_args!("{what}: {done} of {all}")),
                        None => ui.note(format_args!("{what}: {done} files")),
                    }
                }
            }
        }
    }

    pub(super) fn end(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn spinner() -> ProgressStyle {
    style("{spinner} {msg} {pos}")
}

fn counted() -> ProgressStyle {
    style("{spinner} {msg:9} {wide_bar} {pos}/{len} {eta}")
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is one of ours and well-formed")
}
