//! The supervisor: a small process between this one and a stdio server, which sandboxes the server and ends it when this
//! process ends.
//!
//! ```text
//! vouch ──► supervisor (watches, reaps, proxy) ──► init of the namespaces ──► the server ──► processes that it starts
//! ```
//!
//! The program named by [`crate::StdioProgram::supervisor`] calls [`main`] from its main thread, before it starts any
//! other. The same program runs in two stages. The first becomes the subreaper of all its descendants and starts the
//! second. With the policy `Namespaces`, the second is process 1 of new namespaces and starts the server in them; otherwise
//! it applies Landlock and executes the server. Standard input, output and error then belong to the server directly: the
//! supervisor copies nothing and adds no latency to a call.
//!
//! *The spec* (command, arguments, environment, sandbox) is sent as the first bytes of standard input, so that no secret
//! shows in a command line. The supervisor's own environment is empty. The spec includes a nonce, which the supervisor
//! repeats if the server cannot be started, so a server cannot impersonate its supervisor.
//!
//! *The lifeline* is also standard input, which hangs up when this process closes it. The server then has one second to
//! exit by itself, as the protocol requires. Remaining processes get SIGTERM and then SIGKILL. A server can keep the pipe
//! open by holding both of its ends, so the supervisor also watches this process itself, and ends the server on SIGTERM
//! (`owner_watch`). If the supervisor itself is killed, the kernel kills the second stage. That is the whole process tree
//! if the stage is process 1 of a namespace, wherever its members moved.
//!
//! *The namespaces* (`namespaces`, `mount_plan`, `new_root`): user, process, IPC, mount and, unless the network is granted,
//! network. The file system of the server has only the system's programs, its own program (`program_files`) and its
//! grants; all but the write grants are read-only. Names that may hold secrets are empty (`masks`). `system_call_filter`
//! removes socket families and kernel interfaces that no server needs, `limits` bounds resources, and Landlock repeats
//! the file rules (`sandbox`). The server has no capability in any namespace. A missing part prevents the start.
//!
//! *The policy `Landlock`* is weaker: it restricts files, and TCP if `network` is false. It does not restrict UDP, MPTCP,
//! raw or pathname unix sockets.

mod control_socket;
mod egress_proxy;
mod hidden_paths;
mod init_stage;
mod limits;
mod loopback;
mod masks;
mod mount_plan;
mod namespaces;
mod new_root;
mod owner_watch;
mod program_files;
mod sandbox;
mod server_stage;
mod spec;
mod supervisor_stage;
mod system_call_filter;

use std::process::ExitCode;

pub(crate) use program_files::find_missing_grants;
pub(crate) use spec::{StartFailure, SupervisorSpec};

/// Environment variable that marks the second stage.
const STAGE_VARIABLE: &str = "VOUCH_KEEPER";
/// Exit code if the server cannot be started.
const START_FAILED: u8 = 126;

/// Runs the supervisor. Returns the exit code once the server and all its descendants have exited.
pub fn main() -> ExitCode {
    if close_inherited_descriptors().is_err() {
        return ExitCode::from(START_FAILED);
    }
    match std::env::var_os(STAGE_VARIABLE) {
        Some(_) => server_stage::run_server_stage(),
        None => supervisor_stage::run_supervisor_stage(),
    }
}

/// Closes all descriptors but standard input, output and error. A program that started `vouch` may have left others open.
fn close_inherited_descriptors() -> std::io::Result<()> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        open.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    // The listing's own descriptor is closed already.
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        let _ = nix::unistd::close(descriptor);
    }
    Ok(())
}
