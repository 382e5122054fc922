//! Logs, to standard error. Standard output belongs to results and protocol frames.

use app::env::Var;
use app::telemetry::Telemetry;
use clap::ValueEnum;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::commands::Context;
use crate::report::{Explain, FailureKind, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

/// Starts logging, and sending spans where there is somewhere to send them.
pub(crate) fn init(ctx: &Context, format: LogFormat, telemetry: Option<&Telemetry>) -> Result {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(ctx.ui.colors_err()).compact().boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(filter(ctx)?))
        .with(telemetry.map(Telemetry::layer))
        .try_init()
        .explain("cannot start logging")
}

/// For a command that tells by itself what went wrong: only where somebody wants more.
pub(crate) fn init_if_asked(ctx: &Context) -> Result {
    let named = [Var::Log, Var::RustLog].iter().any(|var| ctx.app.environment.get(*var).is_some());
    if ctx.verbose > 0 || named { init(ctx, LogFormat::Text, None) } else { Ok(()) }
}

fn filter(ctx: &Context) -> Result<EnvFilter> {
    for var in [Var::Log, Var::RustLog] {
        if let Some(directives) = ctx.app.environment.get(var) {
            return EnvFilter::try_new(directives)
                .explain(format!("cannot use {}", var.name()))
                .hint(format!(
                    "give a level, or levels by module: {}=info,runtime=debug",
                    var.name()
                ))
                .map_err(|failure| failure.with_kind(FailureKind::Usage));
        }
    }
    let level = match ctx.verbose {
        0 if ctx.ui.is_quiet() => "error",
        // The client logs what the command's error says anyway; so does a link, whose failures the gateway tells once.
        0 => "warn,link=error,rmcp::transport::worker=off,rmcp::transport::common::reqwest=off",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    Ok(EnvFilter::new(level))
}
