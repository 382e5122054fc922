//! Flags of `vouch serve` for the targets of the campaign pack.

use std::path::PathBuf;

use app::config::{CampaignPackSettings, CampaignTarget, Settings, ToolPack, pair_targets};

use crate::report::{Failure, Result};

/// Flags that are used only with `--packs campaign`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "With --packs campaign")]
pub(super) struct ServeCampaignArgs {
    /// Solidity file, project or compiler JSON to fuzz; may be given several times
    ///
    /// Each target is a separate campaign. Settings are read as in `vouch fuzz`, but without a configured limit of
    /// calls the campaign runs until the server stops.
    #[arg(long = "target", value_name = "PATH", conflicts_with = "demo")]
    targets: Vec<PathBuf>,

    /// Fuzz the built-in demo vault, which needs no compiler
    #[arg(long)]
    demo: bool,

    /// Smart contract to test; with several targets, one for each in the same order
    #[arg(long = "contract", value_name = "NAME", requires = "targets", conflicts_with = "demo")]
    contracts: Vec<String>,

    /// Folder for the corpus, reproducers and command log, with a subfolder for each of several campaigns
    #[arg(long, value_name = "DIR")]
    corpus_dir: Option<PathBuf>,
}

impl ServeCampaignArgs {
    /// Overrides the settings of the file with these flags. Errors for flags without the pack, and for the pack without
    /// a target.
    pub(super) fn apply_to(self, settings: &mut Settings) -> Result {
        let Self { targets, demo, contracts, corpus_dir } = self;
        let has_flags = demo || !targets.is_empty() || corpus_dir.is_some();
        if !settings.packs.contains(&ToolPack::Campaign) {
            // The file's settings of a disabled pack have no effect.
            settings.campaign = CampaignPackSettings::default();
            return match has_flags {
                true => Err(Failure::usage(
                    "--target, --demo and --corpus-dir require the `campaign` pack",
                )
                .with_hint("pass `--packs campaign`")),
                false => Ok(()),
            };
        }
        let campaign = &mut settings.campaign;
        if demo {
            campaign.targets = vec![CampaignTarget { path: None, contract: None }];
        } else if !targets.is_empty() {
            let aims = pair_targets(targets, contracts);
            campaign.targets =
                aims.map_err(|rule| Failure::usage(format!("`--contract`: {rule}")))?;
        }
        if corpus_dir.is_some() {
            campaign.corpus_dir = corpus_dir;
        }
        match campaign.targets.is_empty() {
            true => Err(Failure::usage("the `campaign` pack has no target").with_hint(
                "pass `--target PATH` or `--demo`, or set `target` in the table [campaign] of vouch.toml",
            )),
            false => Ok(()),
        }
    }
}
