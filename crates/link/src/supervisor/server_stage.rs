//! The second stage: reads the spec, sandboxes itself, and executes the server.

use std::convert::Infallible;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustix::process::Signal;

use super::sandbox;
use super::spec::{StartFailure, SupervisorSpec};
use crate::SandboxPolicy;

/// Exit code if the server cannot be started.
const START_FAILED: u8 = 126;
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs the second stage. Returns only if the server cannot be started. `supervisor` is the process id of the first stage.
pub(super) fn run_server_stage(supervisor: &str) -> ExitCode {
    match read_spec(supervisor) {
        Ok(spec) => {
            let Err(complaint) = exec_server(&spec);
            // No process has written yet, so this is the first line.
            let _ = std::io::stdout().write_all(&complaint.into_line(&spec.nonce));
        }
        // Without the nonce it could not be distinguished from the server's output, so it goes to standard error.
        Err(complaint) => {
            let _ = std::io::stderr().write_all(complaint.reason().as_bytes());
        }
    }
    ExitCode::from(START_FAILED)
}

fn start_failure(problem: &str, error: std::io::Error) -> StartFailure {
    StartFailure::Program(format!("{problem} ({error})"))
}

/// Binds this process to the supervisor and reads the spec from standard input.
fn read_spec(supervisor: &str) -> Result<SupervisorSpec, StartFailure> {
    // If the supervisor is killed, the kernel kills the server. The check below covers a supervisor killed before this call.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| start_failure("failed to bind it to its supervisor", error.into()))?;
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().to_string());
    if parent.as_deref() != Some(supervisor) {
        return Err(StartFailure::Program("its supervisor exited".to_owned()));
    }
    let _ = rustix::process::setsid();
    let stdin = rustix::io::dup(rustix::stdio::stdin())
        .map_err(|error| start_failure("its standard input is closed", error.into()))?;
    SupervisorSpec::read_from(File::from(stdin))
        .map_err(|error| start_failure("failed to read its spec", error))
}

/// Sandboxes this process and replaces it with the server. Returns only on failure.
fn exec_server(spec: &SupervisorSpec) -> Result<Infallible, StartFailure> {
    if !spec.folder.is_dir() {
        let folder = spec.folder.display();
        return Err(StartFailure::Program(format!(
            "its working directory {folder} does not exist"
        )));
    }
    let program = resolve_program(spec)?;
    if let SandboxPolicy::Landlock { read, write, hidden, network } = &spec.sandbox {
        sandbox::apply_sandbox(&program, &spec.folder, read, write, hidden, *network)?;
    }
    let mut command = Command::new(&program);
    command
        .arg0(&spec.command)
        .args(&spec.args)
        .env_clear()
        .envs(&spec.env)
        .current_dir(&spec.folder);
    let error = command.exec();
    Err(start_failure(&format!("cannot execute {}", program.display()), error))
}

/// Returns the executable file of the command: its path if it contains a slash, otherwise the first match in the server's
/// own `PATH`.
fn resolve_program(spec: &SupervisorSpec) -> Result<PathBuf, StartFailure> {
    let command = &spec.command;
    if command.contains('/') {
        let path = spec.folder.join(command);
        return if is_executable(&path) {
            Ok(path)
        } else {
            Err(StartFailure::Program(format!("{} is not an executable file", path.display())))
        };
    }
    let path = spec.env.get("PATH").map_or(DEFAULT_PATH, String::as_str);
    let folders = std::env::split_paths(path).map(|folder| spec.folder.join(folder));
    let found = folders.map(|folder| folder.join(command)).find(|file| is_executable(file));
    found.ok_or_else(|| {
        let searched = if spec.env.contains_key("PATH") { "the PATH of its env" } else { DEFAULT_PATH };
        StartFailure::Program(format!(
            "program {command:?} not found in {searched}: use an absolute path, or set PATH in its env"
        ))
    })
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
