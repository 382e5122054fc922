//! `vouch index`: builds, inspects or rebuilds the index of context_search and grep_codebase.

mod progress;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use app::config::{Settings, ToolPack};
use app::project;
use app::project::index_status::{self, format_bytes, summarize_index};
use clap::Subcommand;
use pack_context::{IndexStatus, VectorProgress};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::logging::{self, LogFormat};
use crate::report::{Failure, FailureExt, FailureKind, Result};
use crate::ui::BOLD;
use progress::IndexProgressReporter;

/// Maximum time to examine a large project for `status`.
const STATUS_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time for interrupted work to write its results.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Build or inspect the search index
///
/// A server builds the index in the background and answers from the finished part meanwhile. This command builds the
/// complete index, including vectors. Ctrl-C stops it; the next run continues from there.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  vouch index
  vouch index --no-embeddings
  vouch index status --json
  vouch index rebuild")]
pub(crate) struct IndexArgs {
    #[command(subcommand)]
    action: Option<IndexCommand>,
    #[command(flatten)]
    build: IndexBuildArgs,
}

#[derive(Debug, clap::Args)]
struct IndexBuildArgs {
    /// Skip vectors, which is faster and sufficient for keyword search
    #[arg(long)]
    no_embeddings: bool,
}

#[derive(Debug, Subcommand)]
enum IndexCommand {
    /// Show the state of the index
    Status {
        #[command(flatten)]
        format: JsonOutputArgs,
    },
    /// Delete the index and build it again
    ///
    /// Needed only if the index is damaged. Changed files are detected without it.
    Rebuild {
        #[command(flatten)]
        build: IndexBuildArgs,
    },
}

pub(crate) fn run_index(ctx: &CommandContext, args: &IndexArgs) -> Result<ExitStatus> {
    let settings = ctx.app.settings()?;
    logging::init_logging(ctx, LogFormat::Text, None)?;
    if !settings.packs.contains(&ToolPack::Context) {
        return Err(Failure::usage("the `context` pack is not enabled, so there is no index")
            .with_hint("enable it in vouch.toml: packs = [\"repo\", \"context\"]"));
    }
    match &args.action {
        None => build_index(ctx, &settings, &args.build, false),
        Some(IndexCommand::Rebuild { build: options }) => {
            build_index(ctx, &settings, options, true)
        }
        Some(IndexCommand::Status { format }) => print_status(ctx, &settings, format),
    }
}

fn build_index(
    ctx: &CommandContext,
    settings: &Settings,
    options: &IndexBuildArgs,
    anew: bool,
) -> Result<ExitStatus> {
    let embedder = match options.no_embeddings {
        true => None,
        false => project::context::create_embedder(settings)?,
    };
    project::open_state(settings)?;
    let pack = project::context::open_context_pack(settings, embedder)?;
    if anew {
        pack.index().rebuild().hint("run `vouch doctor` to find the problem")?;
    }
    let (index, reporter) = (Arc::clone(pack.index()), IndexProgressReporter::new(ctx.ui));
    let began = Instant::now();
    let work = move |is_stopped: &(dyn Fn() -> bool + Sync)| {
        let complete =
            index.run_to_completion(&|progress| reporter.show_progress(progress), is_stopped);
        reporter.finish();
        complete
    };
    let Some(complete) = ctx.block_on(run_interruptible(work))? else {
        ctx.ui.print_note("Interrupted; progress is saved. Run `vouch index` to continue.");
        return Ok(ExitStatus::Interrupted);
    };
    let status = pack.index().status();
    if !complete {
        return Err(incomplete_failure(&status));
    }
    writeln!(
        ctx.ui.stdout(),
        "{} in {:.1} s",
        summarize_index(&status),
        began.elapsed().as_secs_f64()
    )?;
    Ok(ExitStatus::Success)
}

/// Returns the failure for an index with missing vectors.
fn incomplete_failure(status: &IndexStatus) -> Failure {
    let VectorProgress { done, all } = status.vectors;
    let message = format!("only {done} of {all} vectors are built; the rest is found by keywords");
    match &status.embedding_error {
        Some(error) => Failure::new(format!("{message}: {error}"))
            .with_hint("run `vouch doctor` to find the problem")
            .with_hint("then run `vouch index` to continue"),
        None => Failure::new(format!("{message}; another `vouch` process is building them"))
            .with_hint("run `vouch index status` to see its progress"),
    }
}

/// Runs `work` on its own thread. Returns its result, or `None` if it was interrupted by Ctrl-C or SIGTERM.
async fn run_interruptible(
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> bool + Send + 'static,
) -> Result<Option<bool>> {
    let failed = "failed to listen for signals";
    let mut interrupt = signal(SignalKind::interrupt()).explain(failed)?;
    let mut terminate = signal(SignalKind::terminate()).explain(failed)?;
    let stop = Arc::new(AtomicBool::new(false));
    let (done, mut is_done) = oneshot::channel();
    // The process may end without joining this thread: finished work is already in the cache.
    std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            let ended = work(&|| stop.load(Ordering::Relaxed));
            // The receiver is gone if the command was interrupted.
            let _ = done.send(ended);
        }
    });
    tokio::select! {
        ended = &mut is_done => {
            return ended.explain("failed to build the index").map(Some);
        }
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    stop.store(true, Ordering::Relaxed);
    tokio::select! {
        _ = is_done => {}
        _ = interrupt.recv() => {}
        () = tokio::time::sleep(STOP_TIMEOUT) => {}
    }
    Ok(None)
}

fn print_status(
    ctx: &CommandContext,
    settings: &Settings,
    format: &JsonOutputArgs,
) -> Result<ExitStatus> {
    if !settings.state_folder.is_dir() {
        // Reading must not create a state folder.
        return Err(Failure::new("the index does not exist yet")
            .with_hint("run `vouch index` to build it")
            .with_kind(FailureKind::Negative));
    }
    let status = index_status::read_index_status(settings, STATUS_TIMEOUT)?;
    if format.json {
        ctx.ui.print_json(&status)?;
        return Ok(ExitStatus::Success);
    }
    let mut out = ctx.ui.stdout();
    for (name, value) in status_rows(settings, &status) {
        writeln!(out, "{BOLD}{name:<10}{BOLD:#} {}", contract::text::escape_hidden(&value))?;
    }
    Ok(ExitStatus::Success)
}

fn status_rows(settings: &Settings, status: &IndexStatus) -> Vec<(&'static str, String)> {
    let IndexStatus { files, chunks, discoveries, vectors, pending, .. } = status;
    let changes = match (status.watching, settings.context.watch) {
        (true, _) => "detected by file watches",
        (false, true) => "detected at each call: the system allows no more file watches",
        (false, false) => "detected at each call",
    };
    let mut rows = vec![
        ("files", format!("{files}, {pending} of them not read yet")),
        ("chunks", format!("{chunks}, {discoveries} of them discoveries")),
        ("vectors", format!("{} of {}", vectors.done, vectors.all)),
        ("model", status.model.clone().unwrap_or_else(|| "none: keyword search only".to_owned())),
        ("on disk", format_bytes(status.disk_bytes)),
        ("changes", changes.to_owned()),
    ];
    if let Some(age) = index_age(settings) {
        rows.push(("written", format!("{age} ago")));
    }
    rows
}

/// Returns the time since the last write to the index, or `None` in a linked worktree, which has no index of its own.
fn index_age(settings: &Settings) -> Option<String> {
    let modified = |name| std::fs::metadata(settings.state_folder.join(name)).ok()?.modified().ok();
    let last = ["index.db", "index.db-wal"].into_iter().filter_map(modified).max()?;
    let seconds = last.elapsed().ok()?.as_secs();
    Some(match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    })
}
