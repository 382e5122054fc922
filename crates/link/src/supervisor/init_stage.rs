//! The second stage as process 1 of the namespaces: builds the file system, restricts a thread, starts the server from it,
//! and reaps every process of the namespace. When it exits, the kernel kills all of them.
//!
//! The server is not process 1 itself: that process has no default signal actions and must reap orphans. The restrictions
//! belong to the thread that starts the server and are inherited by the server alone, so this process stays able to do
//! its work, and the server can neither signal nor trace it.

use std::fs::{File, OpenOptions};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use rustix::process::WaitOptions;

use super::control_socket::ControlSocket;
use super::mount_plan::MountPlan;
use super::spec::{StartFailure, SupervisorSpec};
use super::{limits, loopback, namespaces, new_root, sandbox, server_stage, system_call_filter};
use crate::{NamespacePolicy, NetworkAccess};

/// Exit code if the supervisor is gone or the status of the server is unknown.
const UNKNOWN_STATUS: u8 = 125;
/// Hosts that a client reaches without the proxy: the server's own loopback interface.
const NO_PROXY: &str = "localhost,127.0.0.1,::1";

/// Starts the server in new namespaces. Returns its process id.
///
/// # Errors
/// If a part of the sandbox is unavailable, or the program cannot be executed.
pub(super) fn start_server(
    control: &ControlSocket,
    stdin: OwnedFd,
    spec: &SupervisorSpec,
    policy: &NamespacePolicy,
) -> Result<u32, StartFailure> {
    let program = server_stage::resolve_program(spec)?;
    let plan = MountPlan::new(&program, spec, policy)?;
    let has_own_network = policy.network != NetworkAccess::All;
    namespaces::enter_server_namespaces(has_own_network)?;
    if has_own_network {
        loopback::bring_up_loopback()
            .map_err(|error| namespaces::missing_part("a loopback interface", &error))?;
    }
    let mut command = server_stage::build_command(&program, spec);
    if let NetworkAccess::Hosts(_) = policy.network {
        open_proxy(control, &mut command).map_err(|error| {
            namespaces::missing_part("a proxy in the network namespace", &error)
        })?;
    }
    new_root::enter_new_root(&plan, policy.limits.processes)?;
    limits::apply_limits(policy.limits)?;
    command.stdin(Stdio::from(stdin));
    let server = spawn_restricted(command, &plan, &program)?;
    // The owner must see the end of output when the server exits, so this process closes its own copies.
    close_output()
        .map_err(|error| StartFailure::Program(format!("failed to close its output ({error})")))?;
    Ok(server)
}

/// Opens the proxy's listening socket inside the network namespace, sends it to the supervisor, which is outside, and sets
/// the proxy variables.
fn open_proxy(control: &ControlSocket, command: &mut Command) -> std::io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let url = format!("http://{}", listener.local_addr()?);
    control.send_descriptor(listener.as_fd())?;
    for name in ["http_proxy", "https_proxy", "all_proxy"] {
        command.env(name, &url).env(name.to_uppercase(), &url);
    }
    command.env("no_proxy", NO_PROXY).env("NO_PROXY", NO_PROXY);
    // Node reads the variables only if told to.
    command.env("NODE_USE_ENV_PROXY", "1");
    Ok(())
}

/// Restricts a new thread and starts the server from it.
fn spawn_restricted(
    mut command: Command,
    plan: &MountPlan,
    program: &Path,
) -> Result<u32, StartFailure> {
    let launch = || {
        sandbox::apply_plan(plan)?;
        namespaces::drop_capabilities()?;
        // Last, because it removes system calls that the steps before use.
        system_call_filter::apply_filter()?;
        let child = command.spawn();
        child
            .map(|child| child.id())
            .map_err(|error| server_stage::execution_failure(program, error))
    };
    let failure = |problem: &str| StartFailure::Program(format!("failed to launch it ({problem})"));
    thread::scope(|scope| {
        let launcher = thread::Builder::new().spawn_scoped(scope, launch);
        let launcher = launcher.map_err(|error| failure(&error.to_string()))?;
        launcher.join().unwrap_or_else(|_| Err(failure("its thread panicked")))
    })
}

fn close_output() -> std::io::Result<()> {
    let nowhere: File = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(())
}

/// Reaps processes until the server exits. Returns its exit code, or 128 plus the number of its signal.
pub(super) fn run_init(control: ControlSocket, server: u32) -> ExitCode {
    let watcher = thread::Builder::new().spawn(move || {
        control.wait_until_hung_up();
        std::process::exit(UNKNOWN_STATUS.into());
    });
    if watcher.is_err() {
        return ExitCode::from(UNKNOWN_STATUS);
    }
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().cast_unsigned() == server => {
                let code = match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => code,
                    (None, signal) => 128 + signal.unwrap_or(0),
                };
                return ExitCode::from(u8::try_from(code).unwrap_or(UNKNOWN_STATUS));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return ExitCode::from(UNKNOWN_STATUS),
        }
    }
}
