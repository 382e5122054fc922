//! Reads and writes the lock file `vouch.lock`, which belongs in version control.
//!
//! The file is replaced atomically, so a reader sees the old text or the new one. A writer holds an advisory lock on
//! another file, so that a gateway that pins and a person who accepts do not overwrite each other's changes.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use admit::{PinSet, PinSetError};
use disk::Disk;
use parking_lot::Mutex;
use store::files::FileWriter;

use crate::file_trust::{FileTrust, check_content, read_trusted_file};

/// Maximum size of the lock file. Ten thousand definitions of maximum size would exceed it, but cannot be reviewed.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum LockFileError {
    #[error("failed to read {file}")]
    Read { file: String, source: io::Error },
    #[error("invalid lock file {file}")]
    Invalid { file: String, source: PinSetError },
    #[error(
        "{file} exceeds {MAX_FILE_BYTES} bytes; remove its largest upstreams, or limit their tools with `tools` in \
         vouch.toml"
    )]
    TooLarge { file: String },
    #[error("failed to write {file}")]
    Write { file: String, source: io::Error },
}

/// The lock file of a project.
#[derive(Clone, Debug)]
pub struct LockFile {
    path: PathBuf,
    guard: PathBuf,
    max_bytes: u64,
    disk: Arc<dyn Disk>,
    /// Check that the pins are the trusted ones; `None` trusts any.
    trust: Option<Arc<dyn FileTrust>>,
    /// Stamp of the last version that this process read or wrote.
    known: Arc<Mutex<LockFileStamp>>,
}

/// Modification time and size of the file, to detect changes without reading it.
type LockFileStamp = Option<(SystemTime, u64)>;

impl LockFile {
    pub fn new(path: impl Into<PathBuf>, guard: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            guard: guard.into(),
            max_bytes: MAX_FILE_BYTES,
            disk: disk::system_disk(),
            trust: None,
            known: Arc::default(),
        }
    }

    /// Writes the file to this disk.
    pub fn with_disk(self, disk: Arc<dyn Disk>) -> Self {
        Self { disk, ..self }
    }

    /// Accepts only pins that the user trusted.
    pub fn with_trust(self, trust: Option<Arc<dyn FileTrust>>) -> Self {
        Self { trust, ..self }
    }

    /// Returns the pins on disk; empty if the file does not exist.
    pub fn read(&self) -> Result<PinSet, LockFileError> {
        let fail = |source| LockFileError::Read { file: self.display_name(), source };
        if let Err(error) = std::fs::symlink_metadata(&self.path) {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(fail(error));
            }
            // Without pins, changed definitions would be admitted as new ones.
            check_content(self.trust.as_ref(), &self.path, None).map_err(fail)?;
            return Ok(PinSet::default());
        }
        let text = read_trusted_file(self.trust.as_ref(), &self.path, self.max_bytes);
        let text = text.map_err(fail)?;
        let text = text.ok_or_else(|| LockFileError::TooLarge { file: self.display_name() })?;
        PinSet::parse(&text)
            .map_err(|source| LockFileError::Invalid { file: self.display_name(), source })
    }

    /// Changes the pins on disk under the advisory lock.
    ///
    /// `change` returns the new pins, or `None` to write nothing, and a value that is passed through.
    pub fn change_pins<T>(
        &self,
        change: impl FnOnce(&PinSet) -> (Option<PinSet>, T),
    ) -> Result<T, LockFileError> {
        let fail = |source| LockFileError::Write { file: self.display_name(), source };
        // Locked until the end of this function. The guard file itself is kept.
        let guard = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&self.guard)
            .map_err(fail)?;
        guard.lock().map_err(fail)?;
        let (pins, value) = change(&self.read()?);
        if let Some(pins) = pins {
            let text = pins.to_text();
            // An unreadable lock file would stop every other upstream too.
            if text.len() as u64 > self.max_bytes {
                return Err(LockFileError::TooLarge { file: self.display_name() });
            }
            let before = self.read_stamp();
            let writer = FileWriter::new(&*self.disk);
            let mut write = || writer.replace_file(&self.path, text.as_bytes());
            match &self.trust {
                Some(trust) => trust.write_file(&self.path, text.as_bytes(), &mut write),
                None => write(),
            }
            .map_err(fail)?;
            let mut known = self.known.lock();
            // A change by another process before this write still has to be noticed.
            if *known == before {
                *known = self.read_stamp();
            }
        }
        Ok(value)
    }

    /// Returns true if another process changed the file since the last call.
    pub(crate) fn has_external_change(&self) -> bool {
        let now = self.read_stamp();
        now != std::mem::replace(&mut *self.known.lock(), now)
    }

    fn read_stamp(&self) -> LockFileStamp {
        let meta = std::fs::metadata(&self.path).ok()?;
        Some((meta.modified().ok()?, meta.len()))
    }

    fn display_name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use disk::simulated::{DurableFeature, SimulatedDisk, check_durability};

    use super::*;

    fn pins(upstream: &str) -> PinSet {
        let text = format!(r#"{{"version": 1, "upstreams": {{"{upstream}": {{"tools": {{}}}}}}}}"#);
        PinSet::parse(&text).expect("valid pins")
    }

    /// Pins that replace those in the file.
    struct ReplacedPins;

    impl DurableFeature for ReplacedPins {
        fn prepare(&self, root: &Path) {
            std::fs::write(root.join("vouch.lock"), pins("old").to_text()).expect("a file");
        }

        fn write(&self, root: &Path, disk: Arc<SimulatedDisk>) -> Result<(), String> {
            let file = LockFile::new(root.join("vouch.lock"), root.join("guard")).with_disk(disk);
            file.change_pins(|_| (Some(pins("new")), ())).map_err(|error| error.to_string())
        }

        fn check(&self, root: &Path, is_acknowledged: bool) -> Result<(), String> {
            let file = LockFile::new(root.join("vouch.lock"), root.join("guard"));
            let found = file.read().map_err(|error| error.to_string())?;
            match found == pins("new") || !is_acknowledged && found == pins("old") {
                true => Ok(()),
                false => Err("the pins are lost".to_owned()),
            }
        }
    }

    #[test]
    fn pins_survive_any_fault_of_the_disk() {
        let root = tempfile::tempdir().expect("a folder");
        let operations = check_durability(root.path(), &ReplacedPins).expect("durable");
        assert_eq!(operations.len(), 4, "write, sync, rename, sync of the folder");
    }

    #[test]
    fn reports_external_changes_once_and_own_changes_never() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = || LockFile::new(folder.path().join("vouch.lock"), folder.path().join("guard"));
        let (ours, theirs) = (file(), file());
        let write = |file: &LockFile| {
            // A file of equal size written within one clock tick has an equal stamp.
            let stamp = file.read_stamp();
            while file.read_stamp() == stamp {
                file.change_pins(|pins| (Some(pins.clone()), ())).expect("it can be written");
            }
        };
        assert!(!ours.has_external_change());
        write(&ours);
        assert!(!ours.has_external_change() && !ours.clone().has_external_change());
        write(&theirs);
        write(&ours);
        assert!(ours.has_external_change(), "external change before our own write");
        assert!(!ours.has_external_change());
        write(&ours);
        assert!(!ours.has_external_change());
    }

    fn in_folder(folder: &std::path::Path) -> LockFile {
        LockFile::new(folder.join("vouch.lock"), folder.join("guard"))
    }

    #[test]
    fn file_over_the_size_limit_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = File::create(folder.path().join("vouch.lock")).expect("a file");
        for (size, is_too_large) in [(MAX_FILE_BYTES, false), (MAX_FILE_BYTES + 1, true)] {
            file.set_len(size).expect("a sparse file");
            let error = in_folder(folder.path()).read().expect_err("the file is invalid");
            assert_eq!(matches!(error, LockFileError::TooLarge { .. }), is_too_large, "{size}");
        }
    }

    /// A file that this process cannot read again would stop every other upstream.
    #[test]
    fn file_over_the_size_limit_is_not_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let size = pins("ours").to_text().len() as u64;
        let write = |max_bytes| {
            let file = LockFile { max_bytes, ..in_folder(folder.path()) };
            file.change_pins(|_| (Some(pins("ours")), ()))
        };
        let error = write(size - 1).expect_err("the pins are too large");
        assert!(matches!(error, LockFileError::TooLarge { .. }), "{error}");
        assert!(!folder.path().join("vouch.lock").exists());
        write(size).expect("the pins fit");
        assert_eq!(in_folder(folder.path()).read().expect("pins"), pins("ours"));
    }

    /// A lock file that cannot be read is not a missing one: without pins, changed definitions would be admitted as new.
    #[test]
    fn only_a_missing_file_has_no_pins() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = in_folder(folder.path());
        assert_eq!(file.read().expect("no pins"), PinSet::default());
        std::fs::write(folder.path().join("file"), "").expect("a file");
        let below_a_file = in_folder(&folder.path().join("file"));
        assert!(matches!(below_a_file.read(), Err(LockFileError::Read { .. })));
    }

    #[derive(Debug)]
    struct NoTrust;

    impl FileTrust for NoTrust {
        fn check_access(&self, _: &std::path::Path) -> Result<(), String> {
            Err("not trusted".to_owned())
        }

        fn check_content(&self, _: &std::path::Path, _: Option<&[u8]>) -> Result<(), String> {
            Err("not trusted".to_owned())
        }

        fn write_file(
            &self,
            _: &std::path::Path,
            _: &[u8],
            write: &mut dyn FnMut() -> io::Result<()>,
        ) -> io::Result<()> {
            write()
        }
    }

    #[test]
    fn neither_untrusted_pins_nor_their_absence_are_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = in_folder(folder.path()).with_trust(Some(Arc::new(NoTrust)));
        assert!(matches!(file.read(), Err(LockFileError::Read { .. })));
        in_folder(folder.path())
            .change_pins(|pins| (Some(pins.clone()), ()))
            .expect("it can be written");
        assert!(matches!(file.read(), Err(LockFileError::Read { .. })));
    }

    /// The file may be a link to one of the user, a pipe that never ends, or a device that has no end.
    #[test]
    fn special_and_untrusted_files_are_not_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("vouch.lock");
        for target in ["/dev/zero", "/dev/null", "."] {
            std::os::unix::fs::symlink(target, &path).expect("a link");
            let error = in_folder(folder.path()).read().expect_err("it is no file");
            assert!(contract::text::error_chain(&error).contains("not a regular file"), "{error}");
            std::fs::remove_file(&path).expect("a link");
        }
        let file = in_folder(folder.path());
        std::os::unix::fs::symlink("missing", &path).expect("a link");
        assert!(matches!(file.read(), Err(LockFileError::Read { .. })), "it is not missing");
        // A file that cannot be opened shows whether that is tried: the reason would be another one.
        let file = file.with_trust(Some(Arc::new(NoTrust)));
        let error = file.read().expect_err("not trusted");
        assert!(contract::text::error_chain(&error).contains("not trusted"), "{error}");
    }

    /// Trusts what is written through it, and nothing else.
    #[derive(Debug, Default)]
    struct WrittenTrust {
        trusted: Mutex<Option<Vec<u8>>>,
        is_failing: bool,
    }

    impl FileTrust for WrittenTrust {
        fn check_access(&self, _: &Path) -> Result<(), String> {
            Ok(())
        }

        fn check_content(&self, path: &Path, content: Option<&[u8]>) -> Result<(), String> {
            assert!(path.ends_with("vouch.lock"));
            let is_trusted = self.trusted.lock().as_deref() == content;
            is_trusted.then_some(()).ok_or_else(|| "changed by another program".to_owned())
        }

        fn write_file(
            &self,
            path: &Path,
            content: &[u8],
            write: &mut dyn FnMut() -> io::Result<()>,
        ) -> io::Result<()> {
            assert!(path.ends_with("vouch.lock"));
            if self.is_failing {
                return Err(io::Error::other("no record of trust"));
            }
            write()?;
            *self.trusted.lock() = Some(content.to_owned());
            Ok(())
        }
    }

    #[test]
    fn written_pins_are_trusted_and_others_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = in_folder(folder.path()).with_trust(Some(Arc::<WrittenTrust>::default()));
        assert_eq!(file.read().expect("a missing file is trusted"), PinSet::default());
        file.change_pins(|_| (Some(pins("ours")), ())).expect("it can be written");
        assert_eq!(file.read().expect("our own pins"), pins("ours"));
        std::fs::write(folder.path().join("vouch.lock"), pins("theirs").to_text()).expect("a file");
        assert!(matches!(file.read(), Err(LockFileError::Read { .. })));
        // Untrusted pins are not the base of a change either.
        let changed = file.change_pins(|_| (Some(pins("ours")), ()));
        assert!(matches!(changed, Err(LockFileError::Read { .. })));
        std::fs::remove_file(folder.path().join("vouch.lock")).expect("a file");
        assert!(matches!(file.read(), Err(LockFileError::Read { .. })), "the pins are gone");
    }

    #[test]
    fn pins_without_a_record_of_trust_are_not_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let trust = WrittenTrust { is_failing: true, ..WrittenTrust::default() };
        let file = in_folder(folder.path()).with_trust(Some(Arc::new(trust)));
        let changed = file.change_pins(|_| (Some(pins("ours")), ()));
        assert!(matches!(changed, Err(LockFileError::Write { .. })));
        assert!(!folder.path().join("vouch.lock").exists());
    }

    #[test]
    fn errors_name_the_file_without_its_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("vouch.lock"), "{").expect("a file");
        let error = in_folder(folder.path()).read().expect_err("the file is invalid");
        assert_eq!(error.to_string(), "invalid lock file vouch.lock");
        let changed = in_folder(folder.path()).change_pins(|_| (Some(pins("ours")), ()));
        assert!(matches!(changed, Err(LockFileError::Invalid { .. })), "it is not overwritten");
    }

    #[test]
    fn pins_are_changed_by_one_writer_at_a_time() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let folder = tempfile::tempdir().expect("a folder");
        let writers = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let change = |pins: &PinSet| {
                            assert_eq!(writers.fetch_add(1, Ordering::SeqCst), 0);
                            std::thread::yield_now();
                            let _ = pins.to_text();
                            assert_eq!(writers.fetch_sub(1, Ordering::SeqCst), 1);
                            (Some(pins.clone()), ())
                        };
                        in_folder(folder.path()).change_pins(change).expect("it can be written");
                    }
                });
            }
        });
    }
}
