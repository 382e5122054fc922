//! The second stage: receives the spec, and executes the server or becomes the init of its namespaces.

use std::convert::Infallible;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustix::process::Signal;

use super::control_socket::ControlSocket;
use super::spec::{StartFailure, SupervisorSpec};
use super::{START_FAILED, init_stage, owner_watch, sandbox};
use crate::SandboxPolicy;

pub(super) const DEFAULT_PATH: &str =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs the second stage. Returns if the server cannot be started, or once it has exited.
pub(super) fn run_server_stage() -> ExitCode {
    match receive_spec() {
        Ok((control, stdin, spec)) => {
            let complaint = match &spec.sandbox {
                SandboxPolicy::Namespaces(policy) => {
                    match init_stage::start_server(&control, stdin, &spec, policy) {
                        Ok(server) => return init_stage::run_init(control, server),
                        Err(complaint) => complaint,
                    }
                }
                SandboxPolicy::Off | SandboxPolicy::Landlock { .. } => {
                    let Err(complaint) = exec_server(stdin, &spec);
                    complaint
                }
            };
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

/// Binds this process to the supervisor and receives the spec.
fn receive_spec() -> Result<(ControlSocket, OwnedFd, SupervisorSpec), StartFailure> {
    // If the supervisor is killed, the kernel kills this process. The check below covers a supervisor killed before.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| start_failure("failed to bind it to its supervisor", error.into()))?;
    owner_watch::unblock_signals()
        .map_err(|error| start_failure("failed to unblock its signals", error))?;
    let control = ControlSocket::take_stdin()
        .map_err(|error| start_failure("its standard input is closed", error))?;
    if control.is_hung_up() {
        return Err(StartFailure::Program("its supervisor exited".to_owned()));
    }
    let _ = rustix::process::setsid();
    let (stdin, spec) =
        control.receive_spec().map_err(|error| start_failure("failed to read its spec", error))?;
    Ok((control, stdin, spec))
}

/// Sandboxes this process and replaces it with the server. Returns only on failure.
fn exec_server(stdin: OwnedFd, spec: &SupervisorSpec) -> Result<Infallible, StartFailure> {
    let program = resolve_program(spec)?;
    if let SandboxPolicy::Landlock { read, write, hidden, network } = &spec.sandbox {
        sandbox::apply_landlock_level(&program, spec, read, write, hidden, *network)?;
    }
    rustix::stdio::dup2_stdin(stdin)
        .map_err(|error| start_failure("failed to set its standard input", error.into()))?;
    let error = build_command(&program, spec).exec();
    Err(execution_failure(&program, error))
}

/// Returns the command that runs the server with exactly the environment of its spec.
pub(super) fn build_command(program: &Path, spec: &SupervisorSpec) -> Command {
    let mut command = Command::new(program);
    command
        .arg0(&spec.command)
        .args(&spec.args)
        .env_clear()
        .envs(&spec.env)
        .current_dir(&spec.folder);
    command
}

pub(super) fn execution_failure(program: &Path, error: std::io::Error) -> StartFailure {
    start_failure(&format!("cannot execute {}", program.display()), error)
}

/// Returns the executable file of the command: its path if it contains a slash, otherwise the first match in the server's
/// own `PATH`.
///
/// # Errors
/// If there is none, or the working directory does not exist.
pub(super) fn resolve_program(spec: &SupervisorSpec) -> Result<PathBuf, StartFailure> {
    let command = &spec.command;
    if !spec.folder.is_dir() {
        let folder = spec.folder.display();
        return Err(StartFailure::Program(format!(
            "its working directory {folder} does not exist"
        )));
    }
    if command.contains('/') {
        let path = spec.folder.join(command);
        return if is_executable(&path) {
            Ok(path)
        } else {
            Err(StartFailure::Program(format!("{} is not an executable file", path.display())))
        };
    }
    find_in_path(command, spec.env.get("PATH").map(String::as_str)).ok_or_else(|| {
        let searched = if spec.env.contains_key("PATH") { "the absolute folders of the PATH in its env" } else { DEFAULT_PATH };
        StartFailure::Program(format!(
            "program {command:?} not found in {searched}: use an absolute path, or set PATH in its env"
        ))
    })
}

/// Returns the first executable file of this name in a `PATH`, which has no relative folders.
pub(super) fn find_in_path(command: &str, path: Option<&str>) -> Option<PathBuf> {
    let mut folders = std::env::split_paths(path.unwrap_or(DEFAULT_PATH));
    folders.find_map(|folder| Some(folder.join(command)).filter(|file| is_executable(file)))
}

pub(super) fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
