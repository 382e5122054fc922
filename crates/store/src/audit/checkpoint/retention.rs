//! Decides whether the settings allow that sealed files are missing.
//!
//! Only what a holder of the key cannot choose freely counts: the times of checkpoints, the current time, and files that
//! would have taken the space or time of a real one.

use std::io;
use std::time::Duration;

use jiff::Timestamp;

use super::proof::{SealedTip, read_first_record};
use crate::audit::log_files::LogSnapshot;
use crate::audit::options::AuditRotation;

/// Times in a log have milliseconds, so a file may seem to be closed this much too early.
const TIME_PRECISION: Duration = Duration::from_millis(1);

/// What decides about the removal of files of one log.
pub(super) struct RetentionCheck<'a> {
    rotation: &'a AuditRotation,
    now: Timestamp,
    /// Numbers of files, and times at which checkpoints say that they were not closed yet.
    open_files: Vec<(u32, Timestamp)>,
    closed: Vec<ClosedFile>,
}

/// A closed file that is there.
struct ClosedFile {
    number: u32,
    length: u64,
    /// Times of its first line and of the first line after it.
    time: Option<(Timestamp, Timestamp)>,
}

impl<'a> RetentionCheck<'a> {
    pub(super) fn new<'t>(
        snapshot: &LogSnapshot,
        rotation: &'a AuditRotation,
        now: Timestamp,
        tips: impl Iterator<Item = SealedTip<'t>>,
    ) -> io::Result<Self> {
        let open_files = tips.map(|sealed| (sealed.tip.file, sealed.time)).collect();
        let mut closed = vec![];
        // Only they are compared with a limit.
        let numbers = if rotation.keep_files.is_some() { snapshot.closed() } else { &[] };
        let begin = |number: u32| -> io::Result<_> {
            Ok(read_first_record(snapshot, number)?.map(|first| first.entry.time()))
        };
        for (at, &number) in numbers.iter().enumerate() {
            let Some((_, length)) = snapshot.open_file(number)? else { continue };
            let next = numbers.get(at + 1).copied().unwrap_or(snapshot.current_number());
            let time = begin(number)?.zip(begin(next)?);
            closed.push(ClosedFile { number, length, time });
        }
        Ok(Self { rotation, now, open_files, closed })
    }

    /// Returns true if the settings allow that a file is missing. It was not closed before `sealed`.
    pub(super) fn allows_removal(&self, file: u32, sealed: Timestamp) -> bool {
        let times = self.open_files.iter().filter(|(open, _)| *open <= file);
        let closed = times.map(|(_, time)| *time).fold(sealed, Timestamp::max);
        let age = Duration::try_from(self.now.duration_since(closed)).unwrap_or_default();
        let is_old = self.rotation.keep_age.is_some_and(|keep| age > keep);
        let is_excess = self.rotation.keep_files.is_some_and(|keep| {
            let later = self.closed.iter().filter(|it| it.number > file);
            later.filter(|it| self.is_full(it, closed)).count() >= keep as usize
        });
        is_old || is_excess
    }

    /// Returns true if the settings explain why a file was closed. Otherwise a holder of the key could close any number of
    /// small files.
    fn is_full(&self, file: &ClosedFile, earliest: Timestamp) -> bool {
        let AuditRotation { max_file_bytes, max_file_age, .. } = self.rotation;
        let is_old = max_file_age.zip(file.time).is_some_and(|(max, (begin, end))| {
            let age = Duration::try_from(end.duration_since(begin)).unwrap_or_default();
            begin >= earliest && end <= self.now && age + TIME_PRECISION >= max
        });
        file.length >= *max_file_bytes || is_old
    }

    /// Says what the settings keep.
    pub(super) fn describe(&self) -> String {
        const DAY: u64 = 24 * 60 * 60;
        let count = self.rotation.keep_files.map(|keep| format!("keep_files = {keep}"));
        let age = self.rotation.keep_age.map(|age| format!("keep_days = {}", age.as_secs() / DAY));
        match (count, age) {
            (None, None) => "the settings keep all files".to_owned(),
            (Some(keep), None) | (None, Some(keep)) => format!("{keep} does not allow it"),
            (Some(count), Some(age)) => format!("neither {count} nor {age} allows it"),
        }
    }
}
