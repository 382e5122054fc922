//! Checks the content of files whose name says "secret" and that are allowed as source code only.
//!
//! The check runs on the opened handle, in every function that opens a file, so that reading, searching and indexing agree.

use std::fs::File;
use std::io::{self, Read, Seek};

use crate::{Guard, PathRefusal};

/// Returns true if a text is source code without a recognizable secret.
pub type SourceCheck = fn(&str) -> bool;

/// Maximum size of such a file. A larger one is data, or generated.
const MAX_SOURCE_BYTES: u64 = 1_048_576;

impl Guard {
    /// Refuses the file if one of its paths is allowed only as source code, and the content is none.
    pub(crate) fn check_source(&self, paths: &[&str], file: &File) -> Result<(), PathRefusal> {
        let Some(pattern) = self.find_source_pattern(paths) else { return Ok(()) };
        let mut reader = file;
        let bytes = read_start(reader)
            .and_then(|bytes| reader.rewind().map(|()| bytes))
            .map_err(PathRefusal::from_io_error)?;
        self.judge_content(pattern, &bytes)
    }

    /// Like [`Guard::check_source`], for content that was already read.
    #[cfg(all(target_os = "linux", not(vouch_portable)))]
    pub(crate) fn check_source_bytes(
        &self,
        paths: &[&str],
        bytes: &[u8],
    ) -> Result<(), PathRefusal> {
        match self.find_source_pattern(paths) {
            Some(pattern) => self.judge_content(pattern, bytes),
            None => Ok(()),
        }
    }

    fn find_source_pattern(&self, paths: &[&str]) -> Option<&str> {
        paths.iter().find_map(|path| self.deny.source_only_pattern(path))
    }

    fn judge_content(&self, pattern: &str, bytes: &[u8]) -> Result<(), PathRefusal> {
        match self.source_check {
            Some(check) if is_source_text(bytes, check) => Ok(()),
            _ => Err(PathRefusal::Denied { pattern: pattern.to_owned() }),
        }
    }
}

/// Returns true if the content of a file is text of at most 1 MiB that passes the check.
///
/// # Errors
/// If the file cannot be read.
pub fn is_source_file(file: impl Read, check: SourceCheck) -> io::Result<bool> {
    read_start(file).map(|bytes| is_source_text(&bytes, check))
}

/// Reads a file to its end, or to the first byte beyond the maximum.
fn read_start(file: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_SOURCE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_source_text(bytes: &[u8], check: SourceCheck) -> bool {
    let is_small = bytes.len() as u64 <= MAX_SOURCE_BYTES;
    let text = std::str::from_utf8(bytes).ok().filter(|text| is_small && !text.contains('\0'));
    text.is_some_and(check)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;
    use crate::DenyList;

    fn build_project(root: &Path) {
        fs::create_dir_all(root.join("src/secrets")).unwrap();
        fs::create_dir_all(root.join(".kube")).unwrap();
        for (path, text) in [
            ("src/credential.rs", "fn code() {}"),
            ("src/secrets/mod.rs", "fn code() {}"),
            ("src/secrets/token.rs", "LEAK"),
            ("src/secrets/prod.json", "fn code() {}"),
            ("src/plain.rs", "LEAK"),
            (".kube/config", "fn code() {}"),
            ("id_rsa", "fn code() {}"),
        ] {
            fs::write(root.join(path), text).unwrap();
        }
        fs::write(root.join("src/secret_image.rs"), b"fn\0code").unwrap();
        fs::write(root.join("src/secret_latin.rs"), b"fn \xe9").unwrap();
        fs::write(root.join("src/secret_table.rs"), "fn\n".repeat(400_000)).unwrap();
        for (link, target) in [
            ("a.rs", "src/credential.rs"),
            ("b.rs", "src/secrets/token.rs"),
            ("c.rs", "src/secrets/prod.json"),
            ("d.rs", ".kube/config"),
            ("e.rs", "id_rsa"),
            ("my_secret.rs", "src/plain.rs"),
            ("none.rs", "src/secrets/none.json"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
    }

    #[test]
    fn source_code_with_a_secret_name_is_judged_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        build_project(root);
        let deny = DenyList::default().with_source_exception();
        let check: SourceCheck = |text| !text.contains("LEAK");
        let guard = Guard::new(root, deny.clone()).unwrap().with_source_check(check);
        let is_open = |path: &str| {
            let read = guard.open_file(path).is_ok();
            let is_link = root.join(path).is_symlink();
            #[cfg(all(target_os = "linux", not(vouch_portable)))]
            assert_eq!(guard.read_cached(path, 2 << 20).is_some(), read && !is_link, "{path}");
            assert!(
                is_link
                    || guard.check_file(path).is_err()
                    || guard.open_checked(path).is_ok() == read
            );
            read
        };
        for path in ["src/credential.rs", "src/secrets/mod.rs", "src/plain.rs", "a.rs"] {
            assert!(is_open(path), "{path}");
        }
        for path in [
            "src/secrets/token.rs",
            "src/secrets/prod.json",
            "src/secret_image.rs",
            "src/secret_latin.rs",
            "src/secret_table.rs",
            "b.rs",
            "c.rs",
            "d.rs",
            "e.rs",
            "my_secret.rs",
            "id_rsa",
            ".kube/config",
        ] {
            assert!(!is_open(path), "{path}");
        }
        // A link does not reveal if its denied target exists.
        let refusal = |path: &str| guard.open_file(path).unwrap_err().to_string();
        assert_eq!(refusal("c.rs"), refusal("none.rs"));
        // Without a check, no file is source code.
        let unchecked = Guard::new(root, deny).unwrap();
        assert!(unchecked.open_file("src/credential.rs").is_err());
        assert!(unchecked.open_file("src/plain.rs").is_ok());
        let strict = Guard::new(root, DenyList::default()).unwrap().with_source_check(check);
        assert!(strict.open_file("src/credential.rs").is_err());
    }

    #[test]
    fn resolving_and_listing_follow_the_same_rules() {
        let folder = tempfile::tempdir().unwrap();
        build_project(folder.path());
        let deny = DenyList::default().with_source_exception();
        let guard = Guard::new(folder.path(), deny).unwrap();
        assert!(guard.resolve_path("src/secrets").is_ok());
        assert!(guard.resolve_path("src/secrets/mod.rs").is_ok());
        for path in ["src/secrets/prod.json", "src/secrets/none.json", "c.rs", "my-secret", ".kube"]
        {
            let refusal = guard.resolve_path(path).unwrap_err();
            assert_eq!(refusal.code(), contract::ErrorCode::AccessDenied, "{path}");
        }
        let mut names = guard.list_folder("src/secrets").unwrap();
        names.sort();
        assert_eq!(names, ["mod.rs", "token.rs"]);
    }
}
