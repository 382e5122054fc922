//! Logging to standard error. Standard output is reserved for results and protocol frames.

use app::env::EnvVar;
use app::telemetry::Telemetry;
use clap::ValueEnum;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::commands::CommandContext;
use crate::report::{FailureExt, FailureKind, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Human-readable lines
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

/// Starts logging, and span export if telemetry is configured.
pub(crate) fn init_logging(
    ctx: &CommandContext,
    format: LogFormat,
    telemetry: Option<&Telemetry>,
) -> Result {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(ctx.ui.stderr_uses_color()).compact().boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(build_filter(ctx)?))
        .with(telemetry.map(Telemetry::layer))
        .try_init()
        .explain("failed to start logging")
}

/// Starts logging only with `-v`, `VOUCH_LOG` or `RUST_LOG`, for commands that report their own failures.
pub(crate) fn init_logging_if_requested(ctx: &CommandContext) -> Result {
    let named =
        [EnvVar::Log, EnvVar::RustLog].iter().any(|var| ctx.app.environment.get(*var).is_some());
    if ctx.verbose > 0 || named { init_logging(ctx, LogFormat::Text, None) } else { Ok(()) }
}

/// Returns the filter of `VOUCH_LOG`, else of `RUST_LOG`, else of the verbosity flags.
fn build_filter(ctx: &CommandContext) -> Result<EnvFilter> {
    for var in [EnvVar::Log, EnvVar::RustLog] {
        if let Some(directives) = ctx.app.environment.get(var) {
            return EnvFilter::try_new(directives)
                .explain(format!("invalid log filter in {}", var.name()))
                .hint(format!(
                    "set a level, or levels by module: {}=info,runtime=debug",
                    var.name()
                ))
                .map_err(|failure| failure.with_kind(FailureKind::Usage));
        }
    }
    let level = match ctx.verbose {
        0 if ctx.ui.is_quiet() => "error",
        // Errors of `rmcp` clients and of `link` are already reported by the command or, once, by the gateway. Those of
        // its server are refusals, which a flood would repeat in the log.
        0 => {
            "warn,link=error,rmcp::transport::worker=off,rmcp::transport::common::reqwest=off,\
             rmcp::transport::common::server_side_http=off"
        }
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    Ok(EnvFilter::new(level))
}
