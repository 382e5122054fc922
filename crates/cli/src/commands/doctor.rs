//! `vouch doctor`: is everything in order, and if not, what to do.

use std::io::Write;

use app::doctor::{Check, Verdict, run_checks};

use crate::commands::{Context, Format};
use crate::exit::Exit;
use crate::report::Result;
use crate::ui::{ERROR, GOOD, HINT, WARN};

/// Check configuration, folder, store, record, index, model, port and token
///
/// Nothing is changed. Exits with 1 if a check fails; warnings do not count.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let checks = ctx.block_on(async { Ok(run_checks(&ctx.app).await) })?;
    let failed = checks.iter().any(|check| check.verdict == Verdict::Fail);
    if args.format.json {
        ctx.ui.json(&serde_json::json!({"ok": !failed, "checks": checks}))?;
    } else {
        print(ctx, &checks)?;
    }
    Ok(if failed { Exit::No } else { Exit::Success })
}

fn print(ctx: &Context, checks: &[Check]) -> Result {
    let mut out = ctx.ui.out();
    for Check { check, verdict, message, fix } in checks {
        let (style, word) = match verdict {
            Verdict::Ok => (GOOD, "ok"),
            Verdict::Warn => (WARN, "warn"),
            Verdict::Fail => (ERROR, "fail"),
        };
        let message = contract::text::visible(message).replace('\n', "\n                ");
        writeln!(out, "{style}{word:<5}{style:#} {check:<9} {message}")?;
        if let Some(fix) = fix {
            writeln!(out, "                {HINT}→ {}{HINT:#}", contract::text::visible(fix))?;
        }
    }
    Ok(())
}
