//! A temporary folder for each test.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use solidity::{LoadError, ProjectPrograms, SolidityBuild, Toolchain, load_build};
use tempfile::TempDir;

use crate::{describe_build, format_load_error};

pub(crate) const BANK: &str = include_str!("../fixtures/project/src/Bank.sol");
pub(crate) const FEES: &str = include_str!("../fixtures/project/src/Fees.sol");
pub(crate) const BANK_TEST: &str = include_str!("../fixtures/project/test/Bank.t.sol");

/// A temporary folder and the toolchain of a test.
pub(crate) struct TestFolder {
    dir: TempDir,
    pub toolchain: Toolchain,
}

fn trusting_toolchain() -> Toolchain {
    Toolchain { project: ProjectPrograms::All, ..Toolchain::default() }
}

impl TestFolder {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), toolchain: trusting_toolchain() }
    }

    /// Creates a folder with the sources of the fixtures.
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

    /// Writes an executable shell script.
    pub(crate) fn write_program(&self, name: &str, script: &str) -> PathBuf {
        self.write_executable(name, &format!("#!/bin/sh\nPATH=$PATH:/usr/bin:/bin; {script}\n"))
    }

    /// Writes an executable file by another process. If this process wrote it, a child started by a concurrent test
    /// could inherit the open file, and the system refuses to execute files that are open for writing.
    pub(crate) fn write_executable(&self, name: &str, text: &str) -> PathBuf {
        let source = self.write(&format!("{name}.text"), text);
        let path = self.path(name);
        let status =
            Command::new("install").args(["-m", "755"]).arg(&source).arg(&path).status().unwrap();
        assert!(status.success());
        path
    }

    pub(crate) fn load(&self, name: &str) -> Result<SolidityBuild, LoadError> {
        load_build(&self.path(name), &self.toolchain)
    }

    /// Returns the build or the error as text, with the folder name masked.
    pub(crate) fn describe_load(&self, name: &str) -> String {
        let text = match self.load(name) {
            Ok(build) => describe_build(&build),
            Err(error) => format_load_error(&error),
        };
        self.mask_path(&text)
    }

    pub(crate) fn mask_path(&self, text: &str) -> String {
        let whole = self.path("").canonicalize().unwrap();
        let text = text.replace(&*whole.to_string_lossy(), "[folder]");
        text.replace(&*self.path("").to_string_lossy(), "[folder]")
    }
}
