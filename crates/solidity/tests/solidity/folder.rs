//! A folder for each test, with what tests put into it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use solidity::{Build, LoadError, Toolchain, load};
use tempfile::TempDir;

use crate::{described, reported};

pub(crate) const BANK: &str = include_str!("../fixtures/project/src/Bank.sol");
pub(crate) const FEES: &str = include_str!("../fixtures/project/src/Fees.sol");
pub(crate) const BANK_TEST: &str = include_str!("../fixtures/project/test/Bank.t.sol");

pub(crate) struct Folder {
    dir: TempDir,
    pub toolchain: Toolchain,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), toolchain: Toolchain::default() }
    }

    /// With the sources that the fixtures were made of.
    pub(crate) fn with_sources() -> Self {
        let folder = Self::new();
        folder.write("src/Bank.sol", BANK);
        folder.write("src/Fees.sol", FEES);
        folder.write("test/Bank.t.sol", BANK_TEST);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.dir.path().to_owned() } else { self.dir.path().join(name) }
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A program for the shell.
    pub(crate) fn program(&self, name: &str, script: &str) -> PathBuf {
        self.executable(name, &format!("#!/bin/sh\n{script}\n"))
    }

    /// Another process writes it: a file that this one writes stays open in whatever another test starts meanwhile,
    /// and the system refuses to execute a file that is open for writing.
    pub(crate) fn executable(&self, name: &str, text: &str) -> PathBuf {
        let source = self.write(&format!("{name}.text"), text);
        let path = self.path(name);
        let status =
            Command::new("install").args(["-m", "755"]).arg(&source).arg(&path).status().unwrap();
        assert!(status.success());
        path
    }

    pub(crate) fn load(&self, name: &str) -> Result<Build, LoadError> {
        load(&self.path(name), &self.toolchain)
    }

    /// The build or the error as text, without the name of the folder.
    pub(crate) fn check(&self, name: &str) -> String {
        let text = match self.load(name) {
            Ok(build) => described(&build),
            Err(error) => reported(&error),
        };
        self.masked(&text)
    }

    pub(crate) fn masked(&self, text: &str) -> String {
        let whole = self.path("").canonicalize().unwrap();
        let text = text.replace(&*whole.to_string_lossy(), "[folder]");
        text.replace(&*self.path("").to_string_lossy(), "[folder]")
    }
}
