//! The commands, one file each, and what they share.

pub(crate) mod accept;
pub(crate) mod approvals;
pub(crate) mod ask;
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod calls;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod connect;
pub(crate) mod contracts;
pub(crate) mod discover;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod fuzz;
pub(crate) mod gateway;
pub(crate) mod index;
pub(crate) mod init;
pub(crate) mod learn;
pub(crate) mod man;
pub(crate) mod serve;
pub(crate) mod solc;
pub(crate) mod stats;
pub(crate) mod tools;
pub(crate) mod trace;
pub(crate) mod upstream;

use std::future::Future;
use std::sync::Arc;

use app::config::{Place, wrong_config};
use app::context::AppContext;
use app::env::Environment;
use clap::ArgAction;

use crate::args::{Command, Globals};
use crate::exit::Exit;
use crate::report::{Explain, Result};
use crate::ui::Ui;

/// For a server beside something else that needs the cores.
const SERVING_THREADS: usize = 2;

/// What every command is given.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) ui: Ui,
    pub(crate) app: AppContext,
    pub(crate) verbose: u8,
}

/// For results that a script may read.
#[derive(Debug, clap::Args)]
pub(crate) struct Format {
    /// Print JSON
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) json: bool,
}

pub(crate) fn run(ui: Ui, globals: Globals, command: Command) -> Result<Exit> {
    let Globals { root, config, verbose, .. } = globals;
    let environment = Environment::read().map_err(wrong_config)?;
    let place = Place { root, config };
    let app = AppContext { environment, place, notices: Arc::new(ui) };
    let ctx = Context { ui, app, verbose };
    match command {
        Command::Serve(args) => serve::run(&ctx, args),
        Command::Connect(args) => connect::run(&ctx, &args),
        Command::Init(args) => init::run(&ctx, &args),
        Command::Doctor(args) => doctor::run(&ctx, &args),
        Command::Index(args) => index::run(&ctx, &args),
        Command::Discover(args) => discover::run(&ctx, &args),
        Command::Tools(args) => tools::run(&ctx, &args),
        Command::Call(args) => call::run(&ctx, args),
        Command::Contracts(args) => contracts::run(&ctx, &args),
        Command::Explain(args) => explain::run(&ctx, &args),
        Command::Ask(args) => ask::run(&ctx, &args),
        Command::Gateway(args) => gateway::run(&ctx, args),
        Command::Upstream(args) => upstream::run(&ctx, &args),
        Command::Accept(args) => accept::run(&ctx, &args),
        Command::Learn(args) => learn::run(&ctx, &args),
        Command::Calls(args) => calls::run(&ctx, &args),
        Command::Check(args) => check::run(&ctx, &args),
        Command::Fuzz(args) => fuzz::run(&ctx, *args),
        Command::Solc(args) => solc::run(&ctx, &args),
        Command::Approvals(args) => approvals::run(&ctx, &args),
        Command::Audit(args) => audit::run(&ctx, &args),
        Command::Trace(args) => trace::run(&ctx, &args),
        Command::Stats(args) => stats::run(&ctx, &args),
        Command::Completions(args) => completions::run(&ctx, &args),
        Command::Man(args) => man::run(&ctx, &args),
    }
}

impl Context {
    /// Runs what is asynchronous in a command that otherwise is not.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .explain("cannot start the asynchronous runtime")?;
        runtime.block_on(work)
    }

    /// The same with threads for what it starts, so that one thing does not wait for another.
    pub(crate) fn block_on_threads<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(SERVING_THREADS)
            .enable_all()
            .build()
            .explain("cannot start the asynchronous runtime")?;
        runtime.block_on(work)
    }
}
