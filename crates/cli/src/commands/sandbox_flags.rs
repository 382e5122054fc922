//! Flags for the sandbox of a program, shared by `vouch check` and `vouch upstream add`.

use app::config::parse_memory;
use app::upstreams::draft::DraftGrants;
use link::{AllowedHost, NetworkAccess, ResourceLimits};

use crate::report::{Failure, Result};

/// Flags beside --read, --write, --network and --no-sandbox.
#[derive(Debug, clap::Args)]
pub(super) struct SandboxFlags {
    /// Let it connect to this host and port, through a proxy, such as api.github.com:443
    #[arg(
        long,
        value_name = "HOST:PORT",
        conflicts_with_all = ["network", "no_sandbox"],
        value_parser = |text: &str| text.parse::<AllowedHost>()
    )]
    allow_host: Vec<AllowedHost>,

    /// Level of the sandbox; `landlock` is weaker, and enforces neither hosts nor limits [default: full]
    #[arg(long, value_name = "LEVEL", value_parser = ["full", "landlock"], conflicts_with = "no_sandbox")]
    sandbox_level: Option<String>,

    /// Private memory of each process, such as 512MB or 2GB [default: 4GB]
    #[arg(
        long,
        value_name = "SIZE",
        conflicts_with = "no_sandbox",
        value_parser = |text: &str| parse_memory(text).map(|_| text.to_owned())
    )]
    memory: Option<String>,

    /// Maximum processes and threads of the server [default: 512]
    #[arg(long, value_name = "N", conflicts_with = "no_sandbox", value_parser = clap::value_parser!(u32).range(1..))]
    processes: Option<u32>,

    /// Maximum open files of each process [default: 4096]
    #[arg(long, value_name = "N", conflicts_with = "no_sandbox", value_parser = clap::value_parser!(u32).range(1..))]
    open_files: Option<u32>,

    /// Maximum processor time of each process, in seconds [default: no limit]
    #[arg(long, value_name = "SECONDS", conflicts_with = "no_sandbox", value_parser = clap::value_parser!(u64).range(1..))]
    cpu_seconds: Option<u64>,
}

impl SandboxFlags {
    /// Errors if flags are given that have no effect: for a server that is not started, or at the level `landlock`.
    pub(super) fn check(&self, starts_program: bool) -> Result {
        let limits = self.given_limits();
        if !starts_program && let Some(flag) = self.given_flags().next() {
            return Err(Failure::usage(format!("{flag} requires a program after `--`")));
        }
        if self.is_landlock()
            && let Some(flag) = limits.first()
        {
            return Err(Failure::usage(format!("{flag} requires `--sandbox-level full`")));
        }
        Ok(())
    }

    fn given_limits(&self) -> Vec<&'static str> {
        let all = [
            ("--allow-host", !self.allow_host.is_empty()),
            ("--memory", self.memory.is_some()),
            ("--processes", self.processes.is_some()),
            ("--open-files", self.open_files.is_some()),
            ("--cpu-seconds", self.cpu_seconds.is_some()),
        ];
        all.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag).collect()
    }

    fn given_flags(&self) -> impl Iterator<Item = &'static str> {
        let level = self.sandbox_level.as_ref().map(|_| "--sandbox-level");
        self.given_limits().into_iter().chain(level)
    }

    /// Returns true if any flag is given.
    pub(super) fn is_given(&self) -> bool {
        self.given_flags().next().is_some()
    }

    pub(super) fn is_landlock(&self) -> bool {
        self.sandbox_level.as_deref() == Some("landlock")
    }

    /// Returns the network access. `all` is the value of --network.
    pub(super) fn network(&self, all: bool) -> NetworkAccess {
        match (all, self.allow_host.is_empty()) {
            (true, _) => NetworkAccess::All,
            (false, true) => NetworkAccess::None,
            (false, false) => NetworkAccess::Hosts(self.allow_host.clone()),
        }
    }

    pub(super) fn limits(&self) -> ResourceLimits {
        let default = ResourceLimits::default();
        let memory = self.memory.as_deref().and_then(|text| parse_memory(text).ok());
        ResourceLimits {
            memory: memory.or(default.memory),
            processes: self.processes.or(default.processes),
            open_files: self.open_files.or(default.open_files),
            cpu_seconds: self.cpu_seconds.or(default.cpu_seconds),
        }
    }

    /// Returns the grants for vouch.toml. `network` is the value of --network.
    pub(super) fn to_draft(
        &self,
        read: Vec<String>,
        write: Vec<String>,
        network: bool,
    ) -> DraftGrants {
        DraftGrants {
            is_landlock: self.is_landlock(),
            read,
            write,
            network: self.network(network),
            memory: self.memory.clone(),
            processes: self.processes,
            open_files: self.open_files,
            cpu_seconds: self.cpu_seconds,
        }
    }
}
