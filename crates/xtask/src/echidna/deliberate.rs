//! Where we differ from Echidna on purpose, and why. Whatever is not here must be as its tests expect.

use super::spec::Case;

struct Difference {
    file: &'static str,
    /// None is the case without a configuration.
    config: Option<&'static str>,
    why: &'static str,
}

const NO_PROGRAMS: &str = "a contract under test cannot run programs, whatever `allowFFI` says";

const DIFFERENCES: [Difference; 4] = [
    Difference { file: "cheat/ffi.sol", config: Some("cheat/ffi.yaml"), why: NO_PROGRAMS },
    Difference { file: "cheat/ffi2.sol", config: Some("cheat/ffi.yaml"), why: NO_PROGRAMS },
    Difference {
        file: "basic/eip-170.sol",
        config: Some("basic/eip-170.yaml"),
        why: "`codeSize` counts for the contract under test, too; Echidna heeds it only for contracts \
              that contracts create",
    },
    Difference {
        file: "basic/eip-170.sol",
        config: None,
        why: "the default `codeSize` admits it; the suite looks only at what is refused, so that \
              Echidna passes by admitting it",
    },
];

/// Why a case may differ; None if it must not.
pub(crate) fn reason(case: &Case) -> Option<&'static str> {
    let is_case = |it: &&Difference| it.file == case.file && it.config == case.config.as_deref();
    DIFFERENCES.iter().find(is_case).map(|it| it.why)
}
