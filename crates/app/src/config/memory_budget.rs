//! The default of `[limits] memory`: less than 512 MB if the control group of this process allows less than twice that.

use std::fs;
use std::path::Path;

/// The default without a control group.
const MAX_DEFAULT: u64 = 512 << 20;

/// Returns the default budget of requests and responses: half of what the control group of this process allows, and at most
/// 512 MB. The other half is for the program, the index and what the allocator keeps.
pub(super) fn default_memory_budget() -> u64 {
    budget_below(Path::new("/"))
}

fn budget_below(system: &Path) -> u64 {
    read_group_limit(system).map_or(MAX_DEFAULT, |limit| (limit / 2).min(MAX_DEFAULT))
}

/// Returns the memory limit of the control group of this process, or `None` if none is known.
fn read_group_limit(system: &Path) -> Option<u64> {
    let groups = fs::read_to_string(system.join("proc/self/cgroup")).ok()?;
    let limit = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        let (mount, file) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            // Version 1.
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return None,
        };
        smallest_limit(&system.join(mount), Path::new(group.trim_start_matches('/')), file)
    };
    groups.lines().filter_map(limit).min()
}

/// Returns the smallest limit of a group and the groups that contain it, which share theirs. In a container, only the last of
/// them may be visible.
fn smallest_limit(mount: &Path, group: &Path, file: &str) -> Option<u64> {
    // `max` is no limit.
    let read = |group| fs::read_to_string(mount.join(group).join(file)).ok()?.trim().parse().ok();
    group.ancestors().filter_map(read).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget_with(files: &[(&str, &str)]) -> u64 {
        let system = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = system.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        budget_below(system.path())
    }

    #[test]
    fn default_is_half_of_the_memory_limit_and_at_most_512_mb() {
        const MB: u64 = 1 << 20;
        let own = ("proc/self/cgroup", "0::/system.slice/vouch.service\n");
        let limit = "sys/fs/cgroup/system.slice/vouch.service/memory.max";
        let slice = "sys/fs/cgroup/system.slice/memory.max";
        for (files, expected) in [
            (&[][..], 512),
            (&[own], 512),
            (&[own, (limit, "max\n")], 512),
            (&[own, (limit, "268435456\n")], 128),
            (&[own, (limit, "8589934592\n")], 512),
            (&[own, (limit, "max\n"), (slice, "536870912\n")], 256),
            (&[own, (limit, "1073741824\n"), (slice, "209715200\n")], 100),
            // A container with a namespace of its own, and version 1 without one.
            (&[("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "134217728\n")], 64),
            (
                &[
                    ("proc/self/cgroup", "5:cpu,cpuacct:/x\n3:memory:/docker/f00\n"),
                    ("sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n"),
                    ("sys/fs/cgroup/cpu/memory.limit_in_bytes", "1\n"),
                ],
                64,
            ),
        ] {
            assert_eq!(budget_with(files), expected * MB, "{files:?}");
        }
    }
}
