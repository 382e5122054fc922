//! Heads: the sequence number and hash of the last line, authenticated by the key. They reveal lines removed from the end.
//!
//! ```text
//! audit.head         slots 0 and 1: written in turn and synced, about once a second
//!                    slot 2:        written with every batch, not synced
//!                    slot 3:        written after a sync of lines whose caller waits, not synced itself
//! <key folder>/mark  the same as in audit.head; an old copy of log and head does not match it
//!
//! a slot:  <seq> <key id> <hash of the line> <digest under the key>\n     in a sector of its own
//! ```
//!
//! A power failure may tear the slot that is being written, so the slot that was synced before it stays. Lines are
//! synced before a head in slot 0, 1 or 3 names them, so a log never lacks a line that those name. It may lack lines that
//! only slot 2 names. Slot 3 protects acknowledged lines against removal until the next synced head; it costs no sync,
//! because a power failure that loses it does not lose the lines.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use disk::Disk;

use super::chain::{self, ChainTip};
use super::key::KeyId;
use super::keyring::KeySet;
use crate::{hex, private_file};

/// 20 digits, the key id, the hash and the digest, each followed by a space or a newline.
const SLOT_LENGTH: usize = 20 + 1 + KeyId::LENGTH + 1 + 64 + 1 + 64 + 1;
/// Distance of two slots: a sector, which is written completely or not at all.
const SLOT_STRIDE: usize = 512;
const LIVE_SLOT: usize = 2;
const ACKNOWLEDGED_SLOT: usize = 3;
const SLOTS: usize = 4;

/// Returns the path of the head file that belongs to a log.
pub(super) fn head_path(log: &Path) -> PathBuf {
    log.with_extension("head")
}

/// What a head file says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeadState {
    /// The newest synced head.
    pub(super) synced: Option<ChainTip>,
    /// The head of the last batch, which may be ahead of the disk.
    pub(super) live: Option<ChainTip>,
    /// The head of the last lines that were synced because a caller waited.
    pub(super) acknowledged: Option<ChainTip>,
    /// Slot to write next: the one that does not contain the newest synced head.
    free_slot: usize,
    /// True if there is a file.
    pub(super) exists: bool,
    /// The head in the form of earlier versions, which is not authenticated.
    pub(super) legacy: Option<ChainTip>,
}

impl HeadState {
    /// Returns the heads of lines that were on the disk.
    pub(super) fn durable(&self) -> impl Iterator<Item = ChainTip> {
        self.synced.into_iter().chain(self.acknowledged)
    }
}

/// Reads a head file. Slots that the keys do not authenticate are ignored.
pub(super) fn read_head(path: &Path, keys: &KeySet) -> io::Result<HeadState> {
    let mut state = HeadState::default();
    let mut text = vec![];
    match private_file::read_options().open(path) {
        Ok(file) => {
            file.take((SLOTS * SLOT_STRIDE) as u64).read_to_end(&mut text)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(state),
        Err(error) => return Err(error),
    }
    state.exists = true;
    state.legacy = parse_legacy(&text);
    for (slot, text) in text.chunks(SLOT_STRIDE).enumerate() {
        let Some(tip) = text.get(..SLOT_LENGTH).and_then(|text| parse_slot(text, keys)) else {
            continue;
        };
        if slot == LIVE_SLOT {
            state.live = Some(tip);
        } else if slot == ACKNOWLEDGED_SLOT {
            state.acknowledged = Some(tip);
        } else if state.synced.is_none_or(|other| other.seq <= tip.seq) {
            state.synced = Some(tip);
            state.free_slot = 1 - slot;
        }
    }
    Ok(state)
}

/// Writes the head of the last batch, without a sync. A removed file is created again.
pub(super) fn write_live(
    disk: &dyn Disk,
    path: &Path,
    tip: &ChainTip,
    keys: &KeySet,
) -> io::Result<()> {
    write_slot(disk, &open_head(path)?, LIVE_SLOT, tip, keys)
}

/// Writes the head of lines that were synced, without a sync. A missing file stays missing.
pub(super) fn write_acknowledged(
    disk: &dyn Disk,
    path: &Path,
    tip: &ChainTip,
    keys: &KeySet,
) -> io::Result<()> {
    match private_file::open_options().create(false).open(path) {
        Ok(file) => write_slot(disk, &file, ACKNOWLEDGED_SLOT, tip, keys),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes a synced head. The lines up to it must have been synced before. The name of the file is durable since
/// [`replace_head`] created it.
pub(super) fn write_synced(
    disk: &dyn Disk,
    path: &Path,
    tip: &ChainTip,
    keys: &KeySet,
) -> io::Result<()> {
    let state = read_head(path, keys)?;
    let file = open_head(path)?;
    write_slot(disk, &file, state.free_slot, tip, keys)?;
    disk.sync_data(&file)
}

/// Replaces the file by one with this head only. A power failure leaves the earlier file or the new one.
pub(super) fn replace_head(
    disk: &dyn Disk,
    path: &Path,
    tip: &ChainTip,
    keys: &KeySet,
) -> io::Result<()> {
    let new = path.with_extension("new");
    let file = open_head(&new)?;
    disk.set_len(&file, 0)?;
    write_slot(disk, &file, 0, tip, keys)?;
    disk.sync_data(&file)?;
    disk.rename(&new, path)?;
    disk.sync_parent(path)
}

fn write_slot(
    disk: &dyn Disk,
    file: &File,
    slot: usize,
    tip: &ChainTip,
    keys: &KeySet,
) -> io::Result<()> {
    let key = keys.current();
    let mut text = format!("{:020} {} {} ", tip.seq, key.id, hex::encode(&tip.hash));
    let digest = key.sign_head(&keys.chain, text.as_bytes());
    hex::encode_into(&digest, &mut text);
    text.push('\n');
    disk.write_all_at(file, text.as_bytes(), (slot * SLOT_STRIDE) as u64)
}

/// Returns `None` unless a key of the set made the slot.
fn parse_slot(slot: &[u8], keys: &KeySet) -> Option<ChainTip> {
    let (signed, digest) = slot.split_at_checked(SLOT_LENGTH - 65)?;
    let digest = std::str::from_utf8(digest).ok()?.strip_suffix('\n')?;
    let mut fields = std::str::from_utf8(signed).ok()?.strip_suffix(' ')?.split(' ');
    let seq: u64 = fields.next()?.parse().ok().filter(|seq| *seq <= chain::MAX_SEQ)?;
    let key = keys.find_for_head(KeyId::parse(fields.next()?)?, seq)?;
    let hash = hex::decode(fields.next()?)?;
    let valid = hex::decode(digest)? == key.sign_head(&keys.chain, signed);
    valid.then_some(ChainTip { seq, hash })
}

/// Parses the head of an earlier version: 20 digits, a space and the hash.
fn parse_legacy(text: &[u8]) -> Option<ChainTip> {
    let (seq, hash) = std::str::from_utf8(text).ok()?.strip_suffix('\n')?.split_once(' ')?;
    let seq = seq.parse().ok().filter(|seq| *seq <= chain::MAX_SEQ)?;
    Some(ChainTip { seq, hash: chain::parse_hash(hash)? })
}

fn open_head(path: &Path) -> io::Result<File> {
    private_file::open_options().open(path)
}
