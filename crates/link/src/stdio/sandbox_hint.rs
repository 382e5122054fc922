//! The grant that a sandboxed server seems to lack, from what it wrote to standard error before it ended.
//!
//! A guess: programs report the same failure in many words. It only adds to a message, and decides nothing.

use crate::supervisor::find_missing_grants;
use crate::{NetworkAccess, SandboxPolicy, StdioProgram};

/// Words of programs that wrote where they may only read.
const WRITE_FAILURES: [&str; 5] =
    ["read-only file system", "erofs", "readonly database", "read-only database", "readonly file"];
/// Words of programs that resolved a name or connected without a network.
const NETWORK_FAILURES: [&str; 8] = [
    "enetunreach",
    "eai_again",
    "code enotfound",
    "network is unreachable",
    "name resolution",
    "getaddrinfo",
    "dns error",
    "failed to lookup address",
];

/// Returns words about the grant that a server which never answered may lack, or nothing. `sanitize` makes paths safe to
/// display.
pub(super) fn describe_missing_grant(
    program: &StdioProgram,
    stderr: &str,
    sanitize: impl FnOnce(&str) -> String,
) -> String {
    let stderr = stderr.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| stderr.contains(word));
    if program.sandbox == SandboxPolicy::Off {
        return String::new();
    }
    if says(&WRITE_FAILURES) {
        return "; its sandbox lets it write nothing there: add the folder to `write`".to_owned();
    }
    if says(&NETWORK_FAILURES) && !has_network(&program.sandbox) {
        return "; its sandbox has no network: add the hosts that it needs to `network`".to_owned();
    }
    let missing = find_missing_grants(program);
    let shown: Vec<_> =
        missing.iter().map(|path| format!("{:?}", path.display().to_string())).collect();
    match shown.is_empty() {
        true => String::new(),
        false => {
            let shown = sanitize(&shown.join(", "));
            // A database, for instance, is opened for writing too.
            format!(
                "; its sandbox does not show {shown}: add what it needs to `read`, or to `write` if it changes it"
            )
        }
    }
}

/// Returns words about the network for a server that did not answer in time. A program that downloads itself first, such
/// as `npx`, tries again for minutes.
pub(crate) fn describe_timeout(program: &StdioProgram) -> &'static str {
    match program.sandbox == SandboxPolicy::Off || has_network(&program.sandbox) {
        true => "",
        false => {
            "; its sandbox has no network: if it downloads something, add the hosts to `network`"
        }
    }
}

fn has_network(sandbox: &SandboxPolicy) -> bool {
    match sandbox {
        SandboxPolicy::Off => true,
        SandboxPolicy::Landlock { network, .. } => *network,
        SandboxPolicy::Namespaces(policy) => policy.network != NetworkAccess::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NamespacePolicy;

    fn program(network: NetworkAccess) -> StdioProgram {
        let policy = NamespacePolicy { network, ..NamespacePolicy::default() };
        StdioProgram {
            command: "true".to_owned(),
            args: Vec::new(),
            env: [].into(),
            folder: "/".into(),
            sandbox: SandboxPolicy::Namespaces(Box::new(policy)),
            supervisor: Vec::new(),
        }
    }

    fn describe(program: &StdioProgram, stderr: &str) -> String {
        describe_missing_grant(program, stderr, str::to_owned)
    }

    #[test]
    fn names_the_grant_that_the_output_points_to() {
        for (stderr, grant) in [
            ("Error: EROFS: read-only file system, open '/x/memory.json'", "`write`"),
            ("OSError: [Errno 30] Read-only file system: '/x'", "`write`"),
            ("sqlite3.OperationalError: attempt to write a readonly database", "`write`"),
            ("npm error code EAI_AGAIN", "`network`"),
            ("socket.gaierror: [Errno -3] Temporary failure in name resolution", "`network`"),
            ("error sending request: dns error: failed to lookup", "`network`"),
            ("getaddrinfo ENOTFOUND registry.example", "`network`"),
        ] {
            let words = describe(&program(NetworkAccess::None), stderr);
            assert!(words.contains(grant), "{stderr}: {words}");
            assert!(!words.contains("`read`"), "{stderr}: {words}");
        }
        // The name of this error contains the letters of ENOTFOUND.
        for other in ["it broke", "ModuleNotFoundError: No module named x"] {
            assert_eq!(describe(&program(NetworkAccess::None), other), "");
        }
        assert_eq!(describe(&program(NetworkAccess::All), "EAI_AGAIN"), "");
        let off = StdioProgram { sandbox: SandboxPolicy::Off, ..program(NetworkAccess::None) };
        assert_eq!(describe(&off, "EROFS"), "");
        assert_eq!(describe_timeout(&off), "");
        assert_eq!(describe_timeout(&program(NetworkAccess::All)), "");
        assert!(describe_timeout(&program(NetworkAccess::None)).contains("`network`"));
    }
}
