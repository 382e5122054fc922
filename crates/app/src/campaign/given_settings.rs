//! Records which settings a file or a flag gives.
//!
//! Foundry's defaults replace those of Echidna for contracts that are tested by its rules, but never what the user set.
//! Values that no user gives mark the settings before files and flags are applied; those that are left were not given.

use std::num::NonZeroUsize;

use ::fuzz::config::CampaignSettings;
use alloy_primitives::Address;

/// Number that no user gives for a limit.
const UNSET: u64 = u64::MAX - 0x0076_6f75_6368;
const UNSET_LENGTH: NonZeroUsize = NonZeroUsize::MAX;
const UNSET_SENDER: Address = Address::repeat_byte(0xfe);

/// Returns the settings with marks in place of those that Foundry's rules may replace.
pub(super) fn mark_unset(base: &CampaignSettings) -> CampaignSettings {
    CampaignSettings {
        test_limit: UNSET,
        sequence_length: UNSET_LENGTH,
        max_time_delay: UNSET,
        max_block_delay: UNSET,
        senders: vec![UNSET_SENDER],
        ..base.clone()
    }
}

/// Replaces the marks that are left by the settings of `base`, and records the others as given.
pub(super) fn restore_unset(settings: &mut CampaignSettings, base: &CampaignSettings) {
    let mut given = Vec::new();
    let mut restore = |key, is_unset: bool| {
        if !is_unset {
            given.push(key);
        }
        is_unset
    };
    if restore("testLimit", settings.test_limit == UNSET) {
        settings.test_limit = base.test_limit;
    }
    if restore("seqLen", settings.sequence_length == UNSET_LENGTH) {
        settings.sequence_length = base.sequence_length;
    }
    if restore("maxTimeDelay", settings.max_time_delay == UNSET) {
        settings.max_time_delay = base.max_time_delay;
    }
    if restore("maxBlockDelay", settings.max_block_delay == UNSET) {
        settings.max_block_delay = base.max_block_delay;
    }
    if restore("sender", settings.senders == [UNSET_SENDER]) {
        settings.senders.clone_from(&base.senders);
    }
    if settings.test_mode != base.test_mode {
        given.push("testMode");
    }
    settings.foundry.given.extend(given);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_given_settings_even_if_they_equal_the_default() {
        let base = CampaignSettings::default();
        let mut settings = mark_unset(&base);
        settings.sequence_length = base.sequence_length;
        restore_unset(&mut settings, &base);
        let mut expected = base;
        expected.foundry.given.insert("seqLen");
        assert_eq!(settings, expected);
    }
}
