//! The places of the product that write files past the `Disk` trait. A new one fails the test until it is listed with the
//! reason why nothing is lost that was promised.
//!
//! The sources are searched for text: calls that create, replace or copy files by name, options that open files for writing,
//! and `SystemDisk` where a `Disk` could be passed in. Writes to a handle need one of these first.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Crates that are not part of the product, and this one.
const OTHER_CRATES: [&str; 7] =
    ["bench", "disk", "mutants", "parser-fuzz", "test-rights", "testkit", "xtask"];

const CALLS: [&str; 15] = [
    "fs::write(",
    "fs::rename(",
    "fs::copy(",
    "fs::hard_link(",
    "File::create(",
    "File::create_new(",
    "NamedTempFile::",
    ".tempfile_in(",
    ".persist(",
    ".persist_noclobber(",
    ".write(true)",
    ".append(true)",
    ".create(true)",
    ".create_new(true)",
    "SystemDisk",
];

const THROUGH_DISK: &str = "opened here, written through `Disk`";
const LOCK: &str = "a lock without content";
const CACHE: &str = "a cache: what is lost is computed or fetched again";
const REPORT: &str = "a report, which can be written again";
const SANDBOX: &str = "no file on a disk";

/// File, number of lines, and the reason.
const SITES: &[(&str, usize, &str)] = &[
    ("app/src/campaign/demo.rs", 2, "a temporary folder of one run"),
    ("app/src/campaign/fork.rs", 1, THROUGH_DISK),
    (
        "app/src/campaign/report_files.rs",
        1,
        "a pipe or terminal; files are replaced through `Disk`",
    ),
    (
        "app/src/serving/readiness.rs",
        2,
        "the trial write of `/readyz`, which tests the disk of the system",
    ),
    ("app/src/state_migration.rs", 2, LOCK),
    ("app/src/state_migration/legacy_folder.rs", 1, THROUGH_DISK),
    ("app/src/traces.rs", 3, "traces may lose their end"),
    ("app/src/trust/record.rs", 1, LOCK),
    ("fuzz/src/corpus/folder.rs", 1, LOCK),
    ("fuzz/src/corpus/folder/files.rs", 1, THROUGH_DISK),
    ("gateway/src/lockfile.rs", 2, LOCK),
    ("gateway/src/samples.rs", 1, "samples may lose their end"),
    ("link/src/supervisor/init_stage.rs", 1, SANDBOX),
    ("link/src/supervisor/namespaces.rs", 1, SANDBOX),
    ("link/src/supervisor/new_root.rs", 2, SANDBOX),
    ("link/src/supervisor/supervisor_stage.rs", 1, SANDBOX),
    ("pack-campaign/src/command_log.rs", 2, "a campaign does not survive a power failure either"),
    ("pack-campaign/src/output_files.rs", 5, REPORT),
    ("pack-context/src/index/cache/database.rs", 2, CACHE),
    ("pack-context/src/index/embedding/process_lock.rs", 1, LOCK),
    ("pack-repo/src/memory/append.rs", 1, THROUGH_DISK),
    ("remote-chain/src/cache.rs", 2, THROUGH_DISK),
    ("solidity/src/driver/cache.rs", 3, CACHE),
    ("solidity/src/toolchain/install.rs", 1, "an installation can be repeated"),
    ("store/src/audit/checkpoint/seal.rs", 2, THROUGH_DISK),
    ("store/src/audit/log_file/tail.rs", 1, THROUGH_DISK),
    (
        "store/src/files.rs",
        8,
        "`FileWriter` writes through any `Disk`; functions beside it pass that of the system",
    ),
    ("store/src/private_file.rs", 2, THROUGH_DISK),
];

/// Returns the lines of a source file that write, without those of its tests.
fn count_sites(source: &str) -> usize {
    let code = source.split("\nmod tests {").next().unwrap_or_default();
    let writes = |line: &&str| {
        let line = line.trim_start();
        let is_code = !line.starts_with("//") && !line.starts_with("use ");
        let renames = line.contains(".rename(") && !line.contains("disk.rename(");
        is_code && (renames || CALLS.iter().any(|call| line.contains(call)))
    };
    code.lines().filter(writes).count()
}

fn collect_sites(crates: &Path, folder: &Path, found: &mut BTreeMap<String, usize>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" {
            collect_sites(crates, &path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            let count = count_sites(&fs::read_to_string(&path).unwrap());
            let name = path.strip_prefix(crates).unwrap().display().to_string();
            found.extend((count > 0).then_some((name, count)));
        }
    }
}

#[test]
fn writes_past_the_disk_trait_are_listed() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = BTreeMap::new();
    for folder in fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap();
        if !OTHER_CRATES.contains(&name) && folder.join("src").is_dir() {
            collect_sites(crates, &folder.join("src"), &mut found);
        }
    }
    for (file, count, reason) in SITES {
        let is_same = found.remove(*file) == Some(*count);
        assert!(is_same, "{file} no longer has {count} such lines; its reason was: {reason}");
    }
    assert!(found.is_empty(), "write through `Disk`, or list the file with a reason: {found:?}");
}

#[test]
fn sites_are_recognized() {
    for (source, expected) in [
        ("fn f() { std::fs::write(path, text) }", 1),
        ("    let file = File::create(path)?;\n    disk.rename(a, b)?;\n", 1),
        ("folder.rename(a, folder, b)", 1),
        ("// fs::write(\nuse disk::SystemDisk;\n", 0),
        ("fn f() {}\n#[cfg(test)]\nmod tests {\n    fs::write(a, b)\n", 0),
        ("#[cfg(test)]\nmod tests;\n\nfn f() { fs::rename(a, b) }", 1),
    ] {
        assert_eq!(count_sites(source), expected, "{source}");
    }
}
