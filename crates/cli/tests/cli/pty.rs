//! A person at a terminal: types, and sees what comes.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::wait;

pub(crate) struct Pty {
    child: Child,
    master: File,
    shown: Vec<u8>,
}

impl Pty {
    /// Starts a command with the terminal as its input, output and error.
    pub(crate) fn start(mut command: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let slave = File::from(slave);
        let child = command
            .stdin(slave.try_clone().unwrap())
            .stdout(slave.try_clone().unwrap())
            .stderr(slave)
            .spawn()
            .unwrap();
        // It holds the other end, too, and would keep us reading for ever.
        drop(command);
        Self { child, master: File::from(master), shown: Vec::new() }
    }

    /// Reads until the text was shown; gives all that was shown so far.
    pub(crate) fn until(&mut self, text: &str) -> String {
        while !self.text().contains(text) {
            assert!(self.more(), "it ended without `{text}`:\n{}", self.text());
        }
        self.text()
    }

    /// Types, and forgets what was shown before.
    pub(crate) fn types(&mut self, text: &str) {
        self.shown.clear();
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the end; gives the exit code and what was shown since somebody typed last.
    pub(crate) fn end(mut self) -> (i32, String) {
        while self.more() {}
        (wait(&mut self.child).code().unwrap(), self.text())
    }

    fn more(&mut self) -> bool {
        let mut buffer = [0; 4096];
        // The other end is closed when the last process that has it ends.
        let count = self.master.read(&mut buffer).unwrap_or(0);
        self.shown.extend(&buffer[..count]);
        count > 0
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown).replace("\r\n", "\n")
    }
}
