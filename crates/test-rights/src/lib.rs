//! Test support: runs tests with fewer or more rights than their process has, and records those that cannot run.
//!
//! A test that returns early because of its user looks like a test that passed. So a test that needs an ordinary user gives
//! up its rights ([`run_unprivileged`]), and one that needs a second user runs again in a user namespace
//! ([`can_change_owners`]). If neither is possible, [`record_skip`] adds it to a list, and `cargo xtask test` fails unless
//! the skip is expected.

#![expect(
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a failed expectation is a failed test"
)]

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Environment variable with the path of the file that [`record_skip`] appends to.
pub const SKIP_LIST_VARIABLE: &str = "VOUCH_SKIP_LIST";

/// Runs `work` on a thread without the capabilities that bypass file permissions; threads it starts inherit this.
pub fn run_unprivileged<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let restricted = || {
        let mut own = capabilities(None).expect("a thread can read its capabilities");
        own.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        set_capabilities(None, own).expect("a thread can give up capabilities");
        work()
    };
    thread::scope(|scope| scope.spawn(restricted).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns true if this process can give files to another user.
///
/// Otherwise the test `module::name` runs again in a user namespace in which it can, and the caller returns. `module` is
/// `module_path!()`. Panics if the test fails there; records a skip if the system offers no such namespace.
pub fn can_change_owners(module: &str, name: &str) -> bool {
    if rustix::process::geteuid().is_root() {
        return true;
    }
    let test = match module.split_once("::") {
        Some((_, path)) => format!("{path}::{name}"),
        None => name.to_owned(),
    };
    let unshare = |program: &std::ffi::OsStr| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--map-auto", "--"]).arg(program);
        command
    };
    let mut probe = unshare("true".as_ref());
    if !probe.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        record_skip(&test, "no user namespace with several users");
        return false;
    }
    let own = std::env::current_exe().expect("the path of the test program");
    let status = unshare(own.as_os_str()).args(["--exact", &test, "--nocapture"]).status();
    assert!(status.expect("unshare starts").success(), "{test} failed in a user namespace");
    false
}

/// Records that a test, or a part of it, did not run.
pub fn record_skip(test: &str, reason: &str) {
    eprintln!("skipped {test}: {reason}");
    let Some(path) = std::env::var_os(SKIP_LIST_VARIABLE) else { return };
    let list = OpenOptions::new().create(true).append(true).open(path);
    let line = format!("test {test} ... ignored, {reason}\n");
    list.and_then(|mut list| list.write_all(line.as_bytes()))
        .expect("the list of skips is writable");
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn permissions_apply_without_rights() {
        let path = std::env::temp_dir().join(format!("vouch-rights-{}", std::process::id()));
        std::fs::write(&path, "closed").expect("a temporary file");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).expect("own file");
        let read = run_unprivileged(|| std::fs::read(&path));
        std::fs::remove_file(&path).expect("own file");
        assert_eq!(read.expect_err("unreadable").kind(), std::io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn owners_can_be_changed() {
        if !can_change_owners(module_path!(), "owners_can_be_changed") {
            return;
        }
        let path = std::env::temp_dir().join(format!("vouch-owner-{}", std::process::id()));
        std::fs::write(&path, "given").expect("a temporary file");
        let given = chown(&path, Some(12345), None);
        std::fs::remove_file(&path).expect("a file in an own folder");
        given.expect("root can give files away");
    }
}
