//! The flags of `vouch serve` that say what the campaign pack fuzzes.

use std::path::PathBuf;

use app::config::{Aim, Campaign, Pack, Settings, pair};

use crate::report::{Failure, Result};

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "With --packs campaign")]
pub(super) struct CampaignFlags {
    /// What to fuzz: a Solidity file, a project or a compiler's JSON; may be given several times
    ///
    /// Each is a campaign of its own. Settings are read as by `vouch fuzz`, but without a limit of calls there it goes on
    /// until the server ends.
    #[arg(long = "target", value_name = "PATH", conflicts_with = "demo")]
    targets: Vec<PathBuf>,

    /// Fuzz a small vault that comes with this program; needs no compiler
    #[arg(long)]
    demo: bool,

    /// The contract under test; with several targets one for each, in their order
    #[arg(long = "contract", value_name = "NAME", requires = "targets", conflicts_with = "demo")]
    contracts: Vec<String>,

    /// Folder that keeps the corpus, the reproducers and the log of commands; several campaigns have a folder each in it
    #[arg(long, value_name = "DIR")]
    corpus_dir: Option<PathBuf>,
}

impl CampaignFlags {
    /// Writes what was given over what the file says; the pack and its target belong together.
    pub(super) fn apply(self, settings: &mut Settings) -> Result {
        let Self { targets, demo, contracts, corpus_dir } = self;
        let is_told = demo || !targets.is_empty() || corpus_dir.is_some();
        if !settings.packs.contains(&Pack::Campaign) {
            // What a file says of a pack that is not offered has no effect.
            settings.campaign = Campaign::default();
            return match is_told {
                true => Err(Failure::usage("there is a target, but nothing that would fuzz it")
                    .with_hint("add: --packs campaign")),
                false => Ok(()),
            };
        }
        let campaign = &mut settings.campaign;
        if demo {
            campaign.aims = vec![Aim { path: None, contract: None }];
        } else if !targets.is_empty() {
            let aims = pair(targets, contracts);
            campaign.aims = aims.map_err(|rule| Failure::usage(format!("`--contract`: {rule}")))?;
        }
        if corpus_dir.is_some() {
            campaign.corpus_dir = corpus_dir;
        }
        match campaign.aims.is_empty() {
            true => Err(Failure::usage("the pack `campaign` has nothing to fuzz")
                .with_hint("name it: --target PATH, or `target` in the table [campaign] of vouch.toml; --demo needs none")),
            false => Ok(()),
        }
    }
}
