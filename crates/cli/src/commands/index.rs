//! `vouch index`: the index behind context_search and grep_codebase, built to its end, looked at, or made anew.

mod progress;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use app::config::{Pack, Settings};
use app::project;
use app::project::look::{self, size, summary};
use clap::Subcommand;
use pack_context::{Status, Vectors};
use store::StateDir;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::commands::{Context, Format};
use crate::exit::Exit;
use crate::logging::{self, LogFormat};
use crate::report::{Explain, Failure, FailureKind, Result};
use crate::ui::BOLD;
use progress::Reporter;

/// How long a big project is looked at.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long work that is told to stop may take to write out what it has.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Build the index of this folder, or look at it
///
/// A server builds the index by itself, in the background, and answers meanwhile from what is there. This command
/// builds it to its end, with the vectors. What is done is kept: Ctrl-C stops it, and the next run goes on from there.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  vouch index
  vouch index --no-embeddings
  vouch index status --json
  vouch index rebuild")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    build: Build,
}

#[derive(Debug, clap::Args)]
struct Build {
    /// Without vectors: quick, and enough for searches by words
    #[arg(long)]
    no_embeddings: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say how far the index is
    Status {
        #[command(flatten)]
        format: Format,
    },
    /// Throw the index away and build it again
    ///
    /// For a disk that lost data. Files that changed are noticed without it.
    Rebuild {
        #[command(flatten)]
        build: Build,
    },
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let settings = ctx.app.settings()?;
    logging::init(ctx, LogFormat::Text, None)?;
    if !settings.packs.contains(&Pack::Context) {
        return Err(Failure::usage("the context pack is not offered here, so there is no index")
            .with_hint("add it in vouch.toml: packs = [\"repo\", \"context\"]"));
    }
    match &args.action {
        None => build(ctx, &settings, &args.build, false),
        Some(Action::Rebuild { build: options }) => build(ctx, &settings, options, true),
        Some(Action::Status { format }) => status(ctx, &settings, format),
    }
}

fn build(ctx: &Context, settings: &Settings, options: &Build, anew: bool) -> Result<Exit> {
    let embedder = match options.no_embeddings {
        true => None,
        false => project::context::embedder(settings)?,
    };
    StateDir::open(&settings.state_folder)?;
    let pack = project::context::pack(settings, embedder)?;
    if anew {
        pack.index().rebuild().hint("see what is wrong: vouch doctor")?;
    }
    let (index, reporter) = (Arc::clone(pack.index()), Reporter::new(ctx.ui));
    let began = Instant::now();
    let work = move |is_stopped: &(dyn Fn() -> bool + Sync)| {
        let complete = index.complete(&|progress| reporter.show(progress), is_stopped);
        reporter.end();
        complete
    };
    let Some(complete) = ctx.block_on(interruptible(work))? else {
        ctx.ui.note("stopped; what is done is kept. Go on with: vouch index");
        return Ok(Exit::Interrupted);
    };
    let status = pack.index().status();
    if !complete {
        return Err(incomplete(&status));
    }
    writeln!(ctx.ui.out(), "{} in {:.1} s", summary(&status), began.elapsed().as_secs_f64())?;
    Ok(Exit::Success)
}

/// Why some vectors are missing.
fn incomplete(status: &Status) -> Failure {
    let Vectors { done, all } = status.vectors;
    let what = format!("{done} of {all} vectors are there; what has none is found by its words");
    match &status.embedding_error {
        Some(error) => Failure::new(format!("{what}: {error}"))
            .with_hint("see what is wrong: vouch doctor")
            .with_hint("then go on with: vouch index"),
        None => Failure::new(format!("{what}, and another `vouch` is making the rest"))
            .with_hint("see how far it is: vouch index status"),
    }
}

/// Runs work until it is done, or until Ctrl-C or SIGTERM, for which None stands.
async fn interruptible(
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> bool + Send + 'static,
) -> Result<Option<bool>> {
    let failed = "cannot listen for signals";
    let mut interrupt = signal(SignalKind::interrupt()).explain(failed)?;
    let mut terminate = signal(SignalKind::terminate()).explain(failed)?;
    let stop = Arc::new(AtomicBool::new(false));
    let (done, mut is_done) = oneshot::channel();
    // A thread of its own, which the end of the process need not wait for: all that is done is in the cache.
    std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            let ended = work(&|| stop.load(Ordering::Relaxed));
            // Nobody listens any more once the command has ended.
            let _ = done.send(ended);
        }
    });
    tokio::select! {
        ended = &mut is_done => {
            return ended.explain("the index could not be built").map(Some);
        }
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    stop.store(true, Ordering::Relaxed);
    tokio::select! {
        _ = is_done => {}
        _ = interrupt.recv() => {}
        () = tokio::time::sleep(LAST_WORDS) => {}
    }
    Ok(None)
}

fn status(ctx: &Context, settings: &Settings, format: &Format) -> Result<Exit> {
    if !settings.state_folder.is_dir() {
        // Looking must not make a state folder.
        return Err(Failure::new("there is no index here yet")
            .with_hint("build it: vouch index")
            .with_kind(FailureKind::Negative));
    }
    let status = look::status(settings, PATIENCE)?;
    if format.json {
        ctx.ui.json(&status)?;
        return Ok(Exit::Success);
    }
    let mut out = ctx.ui.out();
    for (name, value) in rows(settings, &status) {
        writeln!(out, "{BOLD}{name:<10}{BOLD:#} {}", contract::text::visible(&value))?;
    }
    Ok(Exit::Success)
}

fn rows(settings: &Settings, status: &Status) -> Vec<(&'static str, String)> {
    let Status { files, chunks, discoveries, vectors, pending, .. } = status;
    let notices = match (status.watching, settings.context.watch) {
        (true, _) => "are noticed as they happen",
        (false, true) => "are looked for with every call: the system allows no more watches",
        (false, false) => "are looked for with every call",
    };
    let mut rows = vec![
        ("files", format!("{files}, {pending} of them not read yet")),
        ("pieces", format!("{chunks}, {discoveries} of them discoveries")),
        ("vectors", format!("{} of {}", vectors.done, vectors.all)),
        ("model", status.model.clone().unwrap_or_else(|| "none: searches go by words".to_owned())),
        ("on disk", size(status.disk_bytes)),
        ("changes", notices.to_owned()),
    ];
    if let Some(age) = age(settings) {
        rows.push(("written", format!("{age} ago")));
    }
    rows
}

/// How long ago anything was added to the index. A linked worktree keeps none of its own.
fn age(settings: &Settings) -> Option<String> {
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
