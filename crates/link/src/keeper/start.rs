//! The second stage: reads the spec, fences itself in, and becomes the server.

use std::convert::Infallible;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustix::process::Signal;

use super::fence;
use super::spec::{Complaint, Spec};
use crate::Sandbox;

const FAILED: u8 = 126;
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

pub(super) fn run(keeper: &str) -> ExitCode {
    match prepare(keeper) {
        Ok(spec) => {
            let Err(complaint) = start(&spec);
            // Nobody else has written yet: this is the first line.
            let _ = std::io::stdout().write_all(&complaint.into_line(&spec.nonce));
        }
        // Without the spec it cannot be told from a server's words, so it is put where those are expected.
        Err(complaint) => {
            let _ = std::io::stderr().write_all(complaint.reason().as_bytes());
        }
    }
    ExitCode::from(FAILED)
}

fn cannot(what: &str, error: std::io::Error) -> Complaint {
    Complaint::Program(format!("{what} ({error})"))
}

fn prepare(keeper: &str) -> Result<Spec, Complaint> {
    // If the keeper is killed, the kernel kills the server; if that has happened already, there is nobody to serve.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| cannot("cannot bind it to its keeper", error.into()))?;
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().to_string());
    if parent.as_deref() != Some(keeper) {
        return Err(Complaint::Program("its keeper is gone".to_owned()));
    }
    let _ = rustix::process::setsid();
    let stdin = rustix::io::dup(rustix::stdio::stdin())
        .map_err(|error| cannot("its input is closed", error.into()))?;
    Spec::read(File::from(stdin)).map_err(|error| cannot("what to start cannot be read", error))
}

fn start(spec: &Spec) -> Result<Infallible, Complaint> {
    if !spec.folder.is_dir() {
        let folder = spec.folder.display();
        return Err(Complaint::Program(format!("its working folder {folder} does not exist")));
    }
    let program = resolve(spec)?;
    if let Sandbox::Landlock { read, write, hidden, network } = &spec.sandbox {
        fence::apply(&program, &spec.folder, read, write, hidden, *network)?;
    }
    let mut command = Command::new(&program);
    command
        .arg0(&spec.command)
        .args(&spec.args)
        .env_clear()
        .envs(&spec.env)
        .current_dir(&spec.folder);
    let error = command.exec();
    Err(cannot(&format!("{} does not start", program.display()), error))
}

/// The file to run: by its path, or looked for where the server itself would look.
fn resolve(spec: &Spec) -> Result<PathBuf, Complaint> {
    let command = &spec.command;
    if command.contains('/') {
        let path = spec.folder.join(command);
        return if runs(&path) {
            Ok(path)
        } else {
            Err(Complaint::Program(format!("{} is no file that can be executed", path.display())))
        };
    }
    let path = spec.env.get("PATH").map_or(DEFAULT_PATH, String::as_str);
    let folders = std::env::split_paths(path).map(|folder| spec.folder.join(folder));
    let found = folders.map(|folder| folder.join(command)).find(|file| runs(file));
    found.ok_or_else(|| {
        let place = if spec.env.contains_key("PATH") { "the PATH of its env" } else { DEFAULT_PATH };
        Complaint::Program(format!(
            "there is no program {command:?} in {place}: give its whole path, or name PATH in its env"
        ))
    })
}

fn runs(file: &Path) -> bool {
    file.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
