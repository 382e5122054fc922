//! The libFuzzer program of all targets; `PARSER_FUZZ_TARGET` names the one to run. See `cargo xtask fuzz-parsers`.
//!
//! One program for all targets, because linking one per target takes longer than running it.

#![no_main]

use std::sync::LazyLock;

static TARGET: LazyLock<parser_fuzz::Target> = LazyLock::new(|| {
    let name = std::env::var("PARSER_FUZZ_TARGET").unwrap_or_default();
    parser_fuzz::find_target(&name).unwrap_or_else(|| panic!("unknown target `{name}`"))
});

/// A file for the input that runs now: a stack overflow ends the process before libFuzzer can save it.
static CURRENT: LazyLock<Option<std::ffi::OsString>> =
    LazyLock::new(|| std::env::var_os("PARSER_FUZZ_CURRENT"));

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some(path) = CURRENT.as_ref() {
        // Without the file, only the input of an overflow is lost.
        let _ = std::fs::write(path, data);
    }
    (TARGET.run)(data);
});
