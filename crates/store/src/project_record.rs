//! `project.json` in a state directory: the project that the directory belongs to.
//!
//! People read it to see which folder a state directory is for. A directory that the configuration names is checked
//! against it, so that two projects do not share approvals by accident or by a hostile configuration.

use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::files::FileWriter;
use crate::{ProjectIdentity, StateDir, StoreError, private_file};

const FILE_NAME: &str = "project.json";
/// Size limit of the file; a path has at most 4096 bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// The content of `project.json`.
#[derive(Debug, Serialize, Deserialize)]
struct ProjectRecord {
    /// Path of the project; invalid UTF-8 is replaced.
    path: String,
    inode: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    born: Option<Timestamp>,
    /// Time at which the directory was first used.
    created: Timestamp,
}

impl ProjectRecord {
    /// Returns true if the folder at the path is still the recorded one. Another clone at the path must not inherit the
    /// approvals and tokens of the first.
    fn is_of(&self, project: &ProjectIdentity) -> bool {
        self.inode == project.inode() && self.born == project.born()
    }
}

/// Records the project in a new state directory. Errors if another project is recorded there.
pub(crate) fn claim_directory(dir: &StateDir, project: &ProjectIdentity) -> Result<(), StoreError> {
    let path = dir.path().join(FILE_NAME);
    let text = match private_file::read_options().open(&path) {
        Ok(file) => {
            let mut text = String::new();
            file.take(MAX_BYTES)
                .read_to_string(&mut text)
                .map_err(|source| StoreError::from_io("read", &path, source))?;
            text
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return write_record(dir, &path, project)
                .map_err(|source| StoreError::from_io("write", &path, source));
        }
        Err(source) => return Err(StoreError::from_io("read", &path, source)),
    };
    let own = project.path().to_string_lossy();
    match serde_json::from_str::<ProjectRecord>(&text) {
        Ok(record) if record.path == own => match record.is_of(project) {
            true => Ok(()),
            false => Err(StoreError::ReplacedProject {
                dir: dir.path().to_owned(),
                project: project.path().to_owned(),
            }),
        },
        Ok(record) => Err(StoreError::OtherProject {
            dir: dir.path().to_owned(),
            project: PathBuf::from(record.path),
        }),
        Err(source) => Err(StoreError::InvalidProjectRecord { path, source }),
    }
}

fn write_record(dir: &StateDir, path: &Path, project: &ProjectIdentity) -> io::Result<()> {
    let record = ProjectRecord {
        path: project.path().to_string_lossy().into_owned(),
        inode: project.inode(),
        born: project.born(),
        created: Timestamp::now(),
    };
    let mut text = serde_json::to_string_pretty(&record)?;
    text.push('\n');
    // Two processes may start at once; either record is right, because both are of the same project.
    FileWriter::new(&**dir.disk()).create_private_file(path, text.as_bytes()).map(drop)
}
