//! Files of the store on a disk that fails, fills up and loses power at every point.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use disk::simulated::{DurableFeature, SimulatedDisk, check_durability};
use store::files::FileWriter;
use store::{ProjectToken, StateDir};

fn check(feature: &impl DurableFeature) -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    let operations = check_durability(root.path(), feature).unwrap();
    // Names of temporary files are random.
    operations.iter().map(|it| it.to_string().split(".vouch-").next().unwrap().to_owned()).collect()
}

/// A function that writes the new content to a path.
type Write = fn(FileWriter<'_>, &Path, &[u8]) -> std::io::Result<()>;

/// The content of one file, written by one of the functions of [`FileWriter`].
struct WrittenFile {
    before: Option<&'static str>,
    write: Write,
}

const NEW: &str = "new content\n";

impl DurableFeature for WrittenFile {
    fn prepare(&self, root: &Path) {
        if let Some(before) = self.before {
            fs::write(root.join("file"), before).unwrap();
        }
    }

    fn write(&self, root: &Path, disk: Arc<SimulatedDisk>) -> Result<(), String> {
        let written = (self.write)(FileWriter::new(&*disk), &root.join("file"), NEW.as_bytes());
        written.map_err(|error| error.to_string())
    }

    fn check(&self, root: &Path, is_acknowledged: bool) -> Result<(), String> {
        let found = fs::read_to_string(root.join("file")).ok();
        let is_valid = match is_acknowledged {
            true => found.as_deref() == Some(NEW),
            false => found.as_deref() == Some(NEW) || found.as_deref() == self.before,
        };
        if is_valid { Ok(()) } else { Err(format!("the file contains {found:?}")) }
    }
}

#[test]
fn replaced_file_survives_any_fault() {
    let writes: [Write; 4] = [
        |writer, path, content| writer.replace_file(path, content),
        |writer, path, content| writer.overwrite_file(path, content),
        |writer, path, content| writer.replace_content(path, content),
        |writer, path, content| writer.replace_private_file(path, content),
    ];
    for write in writes {
        for before in [None, Some("old content that is longer\n")] {
            let operations = check(&WrittenFile { before, write });
            assert_eq!(operations, ["Write ", "SyncAll ", "Rename file", "SyncFolder "]);
        }
    }
}

#[test]
fn created_file_survives_any_fault() {
    let writes: [Write; 2] = [
        |writer, path, content| writer.create_file(path, content).map(drop),
        |writer, path, content| writer.create_private_file(path, content).map(drop),
    ];
    for write in writes {
        let operations = check(&WrittenFile { before: None, write });
        assert_eq!(operations, ["Write ", "SyncAll ", "RenameNoclobber file", "SyncFolder "]);
    }
}

/// The project token of a new state directory, or a rotated one.
#[derive(Default)]
struct Token {
    rotates: bool,
    /// The token that the last caller got.
    returned: RefCell<Option<ProjectToken>>,
}

impl DurableFeature for Token {
    fn prepare(&self, root: &Path) {
        if self.rotates {
            let path = root.join("state");
            fs::create_dir(&path).unwrap();
            fs::write(path.join("token"), format!("vouch_{}\n", "ab".repeat(32))).unwrap();
            fs::set_permissions(path.join("token"), fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    fn write(&self, root: &Path, disk: Arc<SimulatedDisk>) -> Result<(), String> {
        let dir = StateDir::open_on_disk(root.join("state"), disk).map_err(|it| it.to_string())?;
        let token = match self.rotates {
            true => ProjectToken::rotate(&dir),
            false => ProjectToken::open_or_create(&dir).map(|(token, _)| token),
        };
        *self.returned.borrow_mut() = Some(token.map_err(|error| error.to_string())?);
        Ok(())
    }

    fn check(&self, root: &Path, is_acknowledged: bool) -> Result<(), String> {
        let found = ProjectToken::find(&root.join("state")).map_err(|error| error.to_string())?;
        let is_valid = match is_acknowledged {
            true => found == *self.returned.borrow(),
            false => found.is_some() || !self.rotates,
        };
        if is_valid { Ok(()) } else { Err("the token is lost".to_owned()) }
    }
}

#[test]
fn project_token_survives_any_fault() {
    assert_eq!(
        check(&Token::default()),
        [
            "SyncFolder ",
            "Write state/",
            "SyncAll state/",
            "RenameNoclobber state/token",
            "SyncFolder state"
        ]
    );
    assert_eq!(
        check(&Token { rotates: true, ..Token::default() }),
        ["Write state/", "SyncAll state/", "Rename state/token", "SyncFolder state"]
    );
}
