//! The protocols of systemd: a listening socket passed at the start, and the message that the server is ready.

use std::net::TcpListener;

use listenfd::ListenFd;

use crate::failure::{FailureExt, Result};

/// Returns the listening socket that a service manager passed to this process, if there is one.
pub(super) fn take_listener() -> Result<Option<TcpListener>> {
    let mut passed = ListenFd::from_env();
    if passed.len() == 0 {
        return Ok(None);
    }
    passed
        .take_tcp_listener(0)
        .explain("failed to use the socket of the service manager")
        .hint("pass one listening TCP socket, such as `ListenStream=127.0.0.1:8377`")
}

/// Tells the service manager that the server is ready. No-op without one.
pub(super) fn notify_ready() {
    if let Err(error) = sd_notify::notify(false, &[sd_notify::NotifyState::Ready]) {
        tracing::debug!(%error, "failed to notify the service manager");
    }
}
