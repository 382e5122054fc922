//! The content that a file may have after a power failure.
//!
//! A file consists of sectors. A sector that was changed since the last sync holds any of the versions that it had since,
//! and the length is any length since. Bytes behind the old end that did not reach the disk are zero. A write that was
//! appended may also be cut at any byte. Sectors themselves are written completely or not at all.

use fastrand::Rng;

/// Unit that a disk writes atomically.
const SECTOR: usize = 512;

/// A change of a file that is possibly not on the disk.
#[derive(Clone, Debug)]
struct UnsyncedChange {
    change: Change,
    /// True if a sync failed after the change. The system then forgets that the change is not on the disk, and later syncs
    /// do not write it.
    is_forgotten: bool,
}

/// A change of the content of a file.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

impl Change {
    fn apply_to(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => {
                let end = offset + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[*offset..end].copy_from_slice(bytes);
            }
            Self::SetLen(length) => content.resize(*length, 0),
        }
    }

    /// Returns the change cut off after a random number of bytes.
    fn cut_off(&self, rng: &mut Rng) -> Option<Self> {
        match self {
            Self::Write { offset, bytes } => {
                let length = rng.usize(0..=bytes.len());
                Some(Self::Write { offset: *offset, bytes: bytes[..length].to_vec() })
            }
            Self::SetLen(_) => None,
        }
    }
}

/// What is known about the content of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct FileContent {
    /// Content that is on the disk.
    synced: Vec<u8>,
    unsynced: Vec<UnsyncedChange>,
}

impl FileContent {
    /// Returns a file whose content is on the disk.
    pub(super) fn from_synced(content: Vec<u8>) -> Self {
        Self { synced: content, unsynced: Vec::new() }
    }

    pub(super) fn push(&mut self, change: Change) {
        self.unsynced.push(UnsyncedChange { change, is_forgotten: false });
    }

    /// Adds the difference to the real content as a change. It was written by other means than the disk.
    pub(super) fn reconcile(&mut self, real: &[u8]) {
        if self.current() != real {
            self.push(Change::SetLen(real.len()));
            self.push(Change::Write { offset: 0, bytes: real.to_vec() });
        }
    }

    /// Returns the content that the running system sees.
    pub(super) fn current(&self) -> Vec<u8> {
        let mut content = self.synced.clone();
        self.unsynced.iter().for_each(|it| it.change.apply_to(&mut content));
        content
    }

    /// Makes the changes durable, except those that a failed sync made the system forget.
    pub(super) fn sync(&mut self) {
        let current = self.current();
        for it in self.unsynced.iter().filter(|it| !it.is_forgotten) {
            it.change.apply_to(&mut self.synced);
        }
        self.unsynced.clear();
        // What differs now was forgotten and not written again.
        let mut at = 0;
        while at < current.len() {
            let differs = |at: &usize| self.synced.get(*at) != current.get(*at);
            let end = (at..current.len()).find(|at| !differs(at)).unwrap_or(current.len());
            if end > at {
                let change = Change::Write { offset: at, bytes: current[at..end].to_vec() };
                self.unsynced.push(UnsyncedChange { change, is_forgotten: true });
            }
            at = (end..current.len()).find(differs).unwrap_or(current.len());
        }
    }

    /// Records a failed sync. Lengths are metadata, which the journal of the file system keeps.
    pub(super) fn forget(&mut self) {
        for it in &mut self.unsynced {
            it.is_forgotten |= matches!(it.change, Change::Write { .. });
        }
    }

    /// Returns the content after a power failure; without `rng`, everything that was not synced is lost.
    ///
    /// If `is_ordered`, the file grows only over bytes that are on the disk: new bytes are missing from the end on.
    pub(super) fn survive(&self, rng: Option<&mut Rng>, is_ordered: bool) -> Vec<u8> {
        let Some(rng) = rng else { return self.synced.clone() };
        match rng.u8(0..4) {
            0 => self.synced.clone(),
            1 => self.current(),
            2 => self.cut_off(rng),
            _ if is_ordered => self.cut_off(rng),
            _ => self.mix_sectors(rng),
        }
    }

    /// Returns the content after some of the changes in order, the last of them cut off.
    fn cut_off(&self, rng: &mut Rng) -> Vec<u8> {
        let mut content = self.synced.clone();
        let kept = rng.usize(0..=self.unsynced.len());
        self.unsynced[..kept].iter().for_each(|it| it.change.apply_to(&mut content));
        let torn = self.unsynced.get(kept).and_then(|it| it.change.cut_off(rng));
        if let Some(torn) = torn {
            // Sectors that existed are not torn.
            let whole = matches!(&torn, Change::Write { offset, .. } if *offset < content.len());
            if !whole {
                torn.apply_to(&mut content);
            }
        }
        content
    }

    /// Returns a content in which each sector has any of its versions.
    fn mix_sectors(&self, rng: &mut Rng) -> Vec<u8> {
        let mut versions = vec![self.synced.clone()];
        for it in &self.unsynced {
            let mut next = versions.last().cloned().unwrap_or_default();
            it.change.apply_to(&mut next);
            versions.push(next);
        }
        let whole = rng.choice(&versions).cloned().unwrap_or_default();
        let mut content = Vec::with_capacity(whole.len());
        while content.len() < whole.len() {
            let start = content.len();
            let end = whole.len().min(start + SECTOR);
            let version = rng.choice(&versions).unwrap_or(&whole);
            let is_zero = start >= self.synced.len() && rng.u8(0..4) == 0;
            content.extend((start..end).map(|at| match version.get(at) {
                Some(_) if is_zero => 0,
                Some(byte) => *byte,
                // The sector did not exist in that version; it is only behind the old end.
                None if at >= self.synced.len() => 0,
                None => whole[at],
            }));
        }
        content
    }
}
