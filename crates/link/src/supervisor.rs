//! The supervisor: a small process between this one and a stdio server, which ends the server when this process ends.
//!
//! ```text
//! vouch ──► supervisor (watches, reaps) ──► the server, in its own session ──► processes that the server starts
//! ```
//!
//! The program named by [`crate::StdioProgram::supervisor`] calls [`main`] from its main thread, before it starts any
//! other. The same program runs in two stages. The first stage becomes the subreaper of all its descendants and starts the
//! second. The second stage sandboxes itself (Landlock) and then executes the server. After the spec, standard input,
//! output and error belong to the server directly: the supervisor copies nothing and adds no latency to a call.
//!
//! *The spec* (command, arguments, environment, sandbox) is sent as the first bytes of standard input, so that no secret
//! shows in a command line. The supervisor's own environment is empty. The spec includes a nonce, which the supervisor
//! repeats if the server cannot be started, so a server cannot impersonate its supervisor.
//!
//! *The lifeline* is also standard input: only this process holds its other end, so it hangs up when this process closes it
//! or is killed. The server then has one second to exit by itself, as the protocol requires. Remaining processes get
//! SIGTERM and then SIGKILL, including grandchildren that moved to their own sessions. The same happens when the server
//! exits and leaves children behind. If the supervisor itself is killed, the kernel kills the server.
//!
//! *The sandbox* is not a jail for hostile code. Landlock restricts file access, and TCP if `network` is false. It does not
//! restrict UDP or raw sockets, and restricts unix sockets only on newer kernels (abstract ones since Linux 6.12). Files in
//! a granted folder can be read, executed and, with `write`, changed. Signals to outside processes are blocked since 6.12.

mod hidden_paths;
mod sandbox;
mod server_stage;
mod spec;
mod supervisor_stage;

use std::process::ExitCode;

pub(crate) use spec::{StartFailure, SupervisorSpec};

/// Environment variable of the second stage; holds the process id of the supervisor.
const STAGE_VARIABLE: &str = "VOUCH_KEEPER";

/// Runs the supervisor. Returns the exit code once the server and all its descendants have exited.
pub fn main() -> ExitCode {
    match std::env::var(STAGE_VARIABLE) {
        Ok(supervisor) => server_stage::run_server_stage(&supervisor),
        Err(_) => supervisor_stage::run_supervisor_stage(),
    }
}
