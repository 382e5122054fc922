//! Resource limits of the server's processes. They are set on process 1 of the namespaces and inherited.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::spec::StartFailure;
use crate::ResourceLimits;

/// Sets the limits of this process and its future children. A limit is never raised.
///
/// `RLIMIT_DATA` bounds memory rather than `RLIMIT_AS`: Node and WebAssembly reserve address space that they never use.
/// `RLIMIT_NPROC` counts the processes of the user namespace, and does not apply to root: see
/// [`super::new_root::enter_new_root`].
pub(super) fn apply_limits(limits: ResourceLimits) -> Result<(), StartFailure> {
    // A core file would hold the server's secrets.
    let all = [
        (Resource::Core, "core", Some(0)),
        (Resource::Data, "memory", limits.memory),
        (Resource::Nproc, "processes", limits.processes.map(u64::from)),
        (Resource::Nofile, "open_files", limits.open_files.map(u64::from)),
        (Resource::Cpu, "cpu_seconds", limits.cpu_seconds),
    ];
    for (resource, name, limit) in all {
        let Some(limit) = limit else { continue };
        let limit = getrlimit(resource).maximum.map_or(limit, |maximum| maximum.min(limit));
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) }).map_err(
            |error| StartFailure::Sandbox(format!("failed to set the limit `{name}` ({error})")),
        )?;
    }
    Ok(())
}
