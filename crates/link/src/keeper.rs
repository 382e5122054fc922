//! The keeper: a small process between us and a stdio server, which ends the server when we end, however we end.
//!
//! ```text
//! vouch ──► keeper (watches, reaps) ──► the server, in a session of its own ──► whatever the server starts
//! ```
//!
//! The program named by [`crate::Program::keeper`] calls [`main`], from its main thread and before it starts any other. It
//! runs in two stages of the same program. The first becomes the reaper of everything below it and starts the second; the
//! second fences itself in (Landlock) and becomes the server. Standard input, output and error are the server's from the
//! first byte after the spec: the keeper copies nothing and costs a call nothing.
//!
//! *The spec* (command, arguments, environment, sandbox) travels as the first bytes of standard input, so that no secret
//! shows in a command line; the keeper's own environment is empty. It holds a nonce, which the keeper repeats if the server
//! cannot be started: no server can pose as its keeper.
//!
//! *The lifeline* is standard input, too: its other end is held by us alone, so it hangs up when we close it and when we are
//! killed. Then the server has a second to end by itself, as the protocol wants it to; whatever is left is asked to end
//! (TERM) and killed (KILL), down to grandchildren that went into sessions of their own. The same happens when the server
//! ends and leaves children behind. If the keeper itself is killed, the kernel kills the server.
//!
//! *The sandbox* is not a jail for hostile code. Landlock covers files, and TCP where `network` is false. It covers neither
//! UDP nor raw sockets, and unix sockets only on kernels that can (abstract ones since 6.12). What a granted folder holds
//! can be read, executed and, with `write`, changed; signals to processes outside are refused since 6.12.

mod fence;
mod hidden;
mod spec;
mod start;
mod watch;

use std::process::ExitCode;

pub(crate) use spec::{Complaint, Spec};

/// Set for the second stage: the keeper's process id.
const STAGE: &str = "VOUCH_KEEPER";

/// Runs the keeper. It returns when the server and all that it started are gone.
pub fn main() -> ExitCode {
    match std::env::var(STAGE) {
        Ok(keeper) => start::run(&keeper),
        Err(_) => watch::run(),
    }
}
