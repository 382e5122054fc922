//! A pseudo-terminal that types into a command and reads its output.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::wait_for_exit;

pub(crate) struct Pty {
    child: Child,
    master: File,
    shown: Vec<u8>,
}

impl Pty {
    /// Starts a command with the terminal as its standard input, output and error.
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
        // The command also holds the other end, which would keep reads from ending.
        drop(command);
        Self { child, master: File::from(master), shown: Vec::new() }
    }

    /// Reads until the text appears. Returns all output since the last input.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        while !self.text().contains(text) {
            assert!(self.read_more(), "it ended without `{text}`:\n{}", self.text());
        }
        self.text()
    }

    /// Types a text and discards the output so far.
    pub(crate) fn type_text(&mut self, text: &str) {
        self.shown.clear();
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the process to exit. Returns the exit code and the output since the last input.
    pub(crate) fn wait_for_exit(mut self) -> (i32, String) {
        while self.read_more() {}
        (wait_for_exit(&mut self.child).code().unwrap(), self.text())
    }

    fn read_more(&mut self) -> bool {
        let mut buffer = [0; 4096];
        // Reading fails once the last process that holds the other end has exited.
        let count = self.master.read(&mut buffer).unwrap_or(0);
        self.shown.extend(&buffer[..count]);
        count > 0
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown).replace("\r\n", "\n")
    }
}
