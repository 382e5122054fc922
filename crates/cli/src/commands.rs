//! The commands, one file each, with the context and the flags that they share.
//!
//! Start at [`run_command`].

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
mod sandbox_flags;
pub(crate) mod serve;
pub(crate) mod solc;
pub(crate) mod stats;
pub(crate) mod token;
pub(crate) mod tools;
pub(crate) mod trace;
pub(crate) mod trust;
pub(crate) mod untrust;
pub(crate) mod upstream;

use std::future::Future;
use std::sync::Arc;

use app::config::{ProjectLocation, config_failure};
use app::context::AppContext;
use app::env::Environment;
use clap::ArgAction;

use crate::args::{CliCommand, GlobalArgs};
use crate::exit::ExitStatus;
use crate::report::{FailureExt, Result};
use crate::ui::Ui;

/// Worker threads of [`CommandContext::block_on_threads`], where the server shares the cores with other work.
const SERVING_THREADS: usize = 2;

/// State that is passed to every command.
#[derive(Debug)]
pub(crate) struct CommandContext {
    pub(crate) ui: Ui,
    pub(crate) app: AppContext,
    pub(crate) verbose: u8,
}

/// The `--json` flag of commands with machine-readable results.
#[derive(Debug, clap::Args)]
pub(crate) struct JsonOutputArgs {
    /// Print JSON
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) json: bool,
}

/// Runs a command and returns the exit status of the process.
pub(crate) fn run_command(ui: Ui, globals: GlobalArgs, command: CliCommand) -> Result<ExitStatus> {
    let GlobalArgs { root, config, trust, verbose, .. } = globals;
    let environment = Environment::read().map_err(config_failure)?;
    let place = ProjectLocation { root, config, trust };
    let app = AppContext::new(environment, place, Arc::new(ui));
    let ctx = CommandContext { ui, app, verbose };
    match command {
        CliCommand::Serve(args) => serve::run_serve(&ctx, args),
        CliCommand::Connect(args) => connect::run_connect(&ctx, &args),
        CliCommand::Token(args) => token::run_token(&ctx, &args),
        CliCommand::Init(args) => init::run_init(&ctx, &args),
        CliCommand::Trust(args) => trust::run_trust(&ctx, &args),
        CliCommand::Untrust(args) => untrust::run_untrust(&ctx, &args),
        CliCommand::Doctor(args) => doctor::run_doctor(&ctx, &args),
        CliCommand::Index(args) => index::run_index(&ctx, &args),
        CliCommand::Discover(args) => discover::run_discover(&ctx, &args),
        CliCommand::Tools(args) => tools::run_tools(&ctx, &args),
        CliCommand::Call(args) => call::run_call(&ctx, args),
        CliCommand::Contracts(args) => contracts::run_contracts(&ctx, &args),
        CliCommand::Explain(args) => explain::run_explain(&ctx, &args),
        CliCommand::Ask(args) => ask::run_ask(&ctx, &args),
        CliCommand::Gateway(args) => gateway::run_gateway(&ctx, args),
        CliCommand::Upstream(args) => upstream::run_upstream(&ctx, &args),
        CliCommand::Accept(args) => accept::run_accept(&ctx, &args),
        CliCommand::Learn(args) => learn::run_learn(&ctx, &args),
        CliCommand::Calls(args) => calls::run_calls(&ctx, &args),
        CliCommand::Check(args) => check::run_check(&ctx, &args),
        CliCommand::Fuzz(args) => fuzz::run_fuzz(&ctx, *args),
        CliCommand::Solc(args) => solc::run_solc(&ctx, &args),
        CliCommand::Approvals(args) => approvals::run_approvals(&ctx, &args),
        CliCommand::Audit(args) => audit::run_audit(&ctx, &args),
        CliCommand::Trace(args) => trace::run_trace(&ctx, &args),
        CliCommand::Stats(args) => stats::run_stats(&ctx, &args),
        CliCommand::Completions(args) => completions::run_completions(&ctx, &args),
        CliCommand::Man(args) => man::run_man(&ctx, &args),
    }
}

impl CommandContext {
    /// Runs a future to completion on the current thread and returns its result.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .explain("failed to start the async runtime")?;
        runtime.block_on(work)
    }

    /// Runs a future to completion with worker threads, so that spawned tasks make progress while it blocks.
    pub(crate) fn block_on_threads<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(SERVING_THREADS)
            .enable_all()
            .build()
            .explain("failed to start the async runtime")?;
        runtime.block_on(work)
    }
}
