//! `vouch doctor`: checks the installation and prints a fix for each problem. The checks are in `app::doctor`.

use std::io::Write;

use app::doctor::{DoctorCheck, DoctorVerdict, run_checks};

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::report::Result;
use crate::ui::{ERROR, GOOD, HINT, WARN};

/// Check the configuration, project, store, audit log, index, model, port and token
///
/// Changes nothing. Exits with 1 if a check fails; warnings do not count.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    format: JsonOutputArgs,
}

pub(crate) fn run_doctor(ctx: &CommandContext, args: &DoctorArgs) -> Result<ExitStatus> {
    let checks = ctx.block_on(async { Ok(run_checks(&ctx.app).await) })?;
    let failed = checks.iter().any(|check| check.verdict == DoctorVerdict::Fail);
    if args.format.json {
        ctx.ui.print_json(&serde_json::json!({"ok": !failed, "checks": checks}))?;
    } else {
        print_checks(ctx, &checks)?;
    }
    Ok(if failed { ExitStatus::Negative } else { ExitStatus::Success })
}

fn print_checks(ctx: &CommandContext, checks: &[DoctorCheck]) -> Result {
    let mut out = ctx.ui.stdout();
    for DoctorCheck { check, verdict, message, fix } in checks {
        let (style, word) = match verdict {
            DoctorVerdict::Ok => (GOOD, "ok"),
            DoctorVerdict::Warn => (WARN, "warn"),
            DoctorVerdict::Fail => (ERROR, "fail"),
        };
        let message = contract::text::escape_hidden(message).replace('\n', "\n                ");
        writeln!(out, "{style}{word:<5}{style:#} {check:<9} {message}")?;
        if let Some(fix) = fix {
            writeln!(
                out,
                "                {HINT}→ {}{HINT:#}",
                contract::text::escape_hidden(fix)
            )?;
        }
    }
    Ok(())
}
