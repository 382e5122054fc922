//! forge on a copy of a public target: whether it agrees with the reproducers, and how many calls it makes.
//!
//! The copy is needed because forge takes tests and writes its output below the project, which stays unmodified.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use super::targets::{PublicTarget, list_sources};
use crate::fuzz::handlers::{SuiteResult, first_line, parse_suite};
use crate::fuzz::measured::run_measured;
use crate::fuzz::peers::FuzzPeers;

/// Folder of the reproducers in the copy.
const REPRODUCERS: &str = "reproducers";
/// Contract with which scfuzzbench runs forge, and its invariant, which always holds.
const CAMPAIGN: &str = "CryticToFoundry";
const HOLDING: &str = "invariant_noop";
/// Processor time for one run of forge, compiling included.
const FORGE_SECONDS: u64 = 7200;
/// Seconds of the short run whose cost is subtracted.
const SHORT_SECONDS: u64 = 2;

/// A copy of a target in which forge runs.
pub(super) struct ForgeProject<'a> {
    peers: &'a FuzzPeers,
    forge: &'a Path,
    /// Folder of the npm package `solc` in the version of the target.
    solc: PathBuf,
    folder: PathBuf,
    harness: &'a Path,
}

/// A reproducer that forge does not confirm.
#[derive(Debug, PartialEq)]
pub(super) struct ReproducerException {
    pub(super) file: String,
    pub(super) reason: String,
}

impl<'a> ForgeProject<'a> {
    /// Copies the sources; those of an earlier run are kept. The inner error is the reason why forge cannot run.
    pub(super) fn prepare(
        peers: &'a FuzzPeers,
        target: &'static PublicTarget,
        sources: &Path,
        folder: PathBuf,
        cache: &Path,
    ) -> Result<Result<Self, String>> {
        let forge = match &peers.forge {
            Ok(forge) => forge,
            Err(reason) => return Ok(Err(format!("forge is not installed: {reason}"))),
        };
        let solc = cache.join("vouch/solc").join(target.solc).join("node_modules/solc");
        if !solc.is_dir() {
            return Ok(Err(format!("solc {} is not installed", target.solc)));
        }
        let done = folder.join(".copied");
        if !done.exists() {
            copy_sources(sources, &folder)?;
            fs::write(&done, "")?;
        }
        let harness = Path::new(target.file).parent().context("the harness has no folder")?;
        Ok(Ok(Self { peers, forge, solc, folder, harness }))
    }

    /// Replays reproducers. Returns those that do not compile, or do not fail as they should.
    pub(super) fn check_reproducers(&self, corpora: &[PathBuf]) -> Result<ReproducerCheck> {
        let place = self.folder.join(REPRODUCERS);
        if place.exists() {
            fs::remove_dir_all(&place)
                .with_context(|| format!("failed to remove {}", place.display()))?;
        }
        fs::create_dir_all(&place)?;
        let mut files = Vec::new();
        for corpus in corpora {
            for file in list_reproducers(&corpus.join("foundry"))? {
                let name = file.file_name().context("a reproducer has no name")?.to_owned();
                // Another seed may have found the same sequence.
                if !place.join(&name).exists() {
                    fs::copy(&file, place.join(&name))?;
                    files.push(name.to_string_lossy().into_owned());
                }
            }
        }
        files.sort();
        if files.is_empty() {
            return Ok(ReproducerCheck::default());
        }
        let all = self.replay(&format!("{REPRODUCERS}/*"))?;
        let exceptions = match all {
            Ok(suites) => find_exceptions(&files, &suites),
            // One that does not compile hides the others.
            Err(_) => self.replay_one_by_one(&place, &files)?,
        };
        Ok(ReproducerCheck { count: files.len(), exceptions })
    }

    fn replay_one_by_one(
        &self,
        place: &Path,
        files: &[String],
    ) -> Result<Vec<ReproducerException>> {
        let aside = self.folder.join("reproducers-aside");
        fs::create_dir_all(&aside)?;
        for file in files {
            fs::rename(place.join(file), aside.join(file))?;
        }
        let mut exceptions = Vec::new();
        for file in files {
            fs::rename(aside.join(file), place.join(file))?;
            match self.replay(&format!("{REPRODUCERS}/{file}"))? {
                Ok(suites) => {
                    exceptions.extend(find_exceptions(std::slice::from_ref(file), &suites))
                }
                Err(reason) => exceptions.push(ReproducerException { file: file.clone(), reason }),
            }
            fs::rename(place.join(file), aside.join(file))?;
        }
        fs::remove_dir_all(aside)?;
        Ok(exceptions)
    }

    /// Runs the tests of some files. Returns the results by `path:Name`, or why there are none.
    fn replay(&self, files: &str) -> Result<Result<BTreeMap<String, Value>, String>> {
        let mut command = self.forge_test(REPRODUCERS)?;
        command.args(["--match-path", files]);
        let ran = run_measured(&command, FORGE_SECONDS)?;
        Ok(match parse_document(&ran.stdout) {
            Some(suites) => Ok(suites),
            None => Err(ran.describe()),
        })
    }

    /// Returns calls per second of processor time of a campaign of that many seconds, or why it is unknown. The cost of
    /// compiling and starting is left out: it is that of a short campaign too.
    pub(super) fn measure_rate(&self, seconds: u64) -> Result<Result<f64, String>> {
        self.remove_corpus_setting()?;
        let run = |seconds: u64| -> Result<Result<(u64, f64), String>> {
            let mut command = self.forge_test(&self.harness.to_string_lossy())?;
            command.args(["--match-contract", &format!("^{CAMPAIGN}$"), "--threads", "1"]);
            command.args(["--match-test", HOLDING, "--fuzz-seed", "1"]);
            command.env("FOUNDRY_INVARIANT_TIMEOUT", seconds.to_string());
            let ran = run_measured(&command, FORGE_SECONDS)?;
            Ok(match parse_document(&ran.stdout) {
                Some(suites) => parse_calls(&suites).map(|calls| (calls, ran.cpu)),
                None => Err(ran.describe()),
            })
        };
        // The first run compiles.
        for seconds in [1, SHORT_SECONDS] {
            if let Err(reason) = run(seconds)? {
                return Ok(Err(reason));
            }
        }
        let (short, long) = match (run(SHORT_SECONDS)?, run(SHORT_SECONDS + seconds)?) {
            (Ok(short), Ok(long)) => (short, long),
            (Err(reason), _) | (_, Err(reason)) => return Ok(Err(reason)),
        };
        let (calls, cpu) = (long.0.saturating_sub(short.0), long.1 - short.1);
        Ok(match calls > 0 && cpu > 0.0 {
            true => Ok(calls as f64 / cpu),
            false => Err("the longer campaign made no more calls".to_owned()),
        })
    }

    /// Returns a command that runs tests of one folder and compiles only what they need.
    fn forge_test(&self, tests: &str) -> Result<Command> {
        let mut command = self.peers.command(self.forge)?;
        command.args(["test", "--json", "--offline", "--use"]).arg(self.peers.solc());
        command.env("BENCH_SOLC", &self.solc).current_dir(&self.folder).stdin(Stdio::null());
        for variable in ["FOUNDRY_SRC", "FOUNDRY_TEST", "FOUNDRY_SCRIPT"] {
            command.env(variable, tests);
        }
        Ok(command)
    }

    /// Removes the setting that scfuzzbench removes too: with a corpus folder, forge uses up the memory.
    fn remove_corpus_setting(&self) -> Result<()> {
        let path = self.folder.join("foundry.toml");
        let text = fs::read_to_string(&path)
            .with_context(|| format!("failed to read {}", path.display()))?;
        let kept = text.lines().filter(|line| !line.trim_start().starts_with("corpus_dir"));
        let kept: String = kept.flat_map(|line| [line, "\n"]).collect();
        fs::write(&path, kept).with_context(|| format!("failed to write {}", path.display()))
    }
}

/// Result of replaying the reproducers of a target.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ReproducerCheck {
    pub(super) count: usize,
    pub(super) exceptions: Vec<ReproducerException>,
}

fn copy_sources(from: &Path, to: &Path) -> Result<()> {
    for file in list_sources(from)? {
        let path = to.join(&file);
        fs::create_dir_all(path.parent().context("a file has no folder")?)?;
        fs::copy(from.join(&file), &path)
            .with_context(|| format!("failed to copy {}", file.display()))?;
    }
    Ok(())
}

/// Returns the Foundry tests in a folder, sorted. There are none if nothing failed.
fn list_reproducers(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.with_context(|| format!("failed to list {}", folder.display()))?,
    };
    let paths = read.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let is_test = |path: &PathBuf| path.to_string_lossy().ends_with(".t.sol");
    let mut tests: Vec<_> = paths.into_iter().filter(is_test).collect();
    tests.sort();
    Ok(tests)
}

/// Returns the suites of the JSON document that `forge test` prints last, by `path:Name`.
fn parse_document(stdout: &str) -> Option<BTreeMap<String, Value>> {
    let document = stdout.lines().rev().find_map(|line| serde_json::from_str(line).ok())?;
    let Value::Object(suites) = document else { return None };
    Some(suites.into_iter().collect())
}

/// Returns the files whose replay did not fail by the assertion.
fn find_exceptions(files: &[String], suites: &BTreeMap<String, Value>) -> Vec<ReproducerException> {
    let check = |file: &String| -> Option<ReproducerException> {
        let place = format!("{REPRODUCERS}/{file}:");
        let mut own = suites.iter().filter(|(name, _)| name.starts_with(&place));
        let reason = match own.next() {
            None => "forge did not run it".to_owned(),
            Some((_, suite)) => describe_exception(suite)?,
        };
        Some(ReproducerException { file: file.clone(), reason })
    };
    files.iter().filter_map(check).collect()
}

/// Returns how the result of a replay differs from the expected one, a failure of `test_replay`.
fn describe_exception(suite: &Value) -> Option<String> {
    let results = parse_suite(suite);
    match results.get("test_replay") {
        Some(SuiteResult::Broken(_)) => None,
        Some(SuiteResult::NotBroken) => Some("passes under forge".to_owned()),
        Some(SuiteResult::Unknown(reason)) => Some(format!("unknown: {reason}")),
        None => {
            let other = results.into_iter().next();
            Some(match other {
                Some((name, SuiteResult::Broken(reason))) => format!("{name} fails: {reason}"),
                _ => "no test_replay".to_owned(),
            })
        }
    }
}

/// Returns the number of calls of the campaign, or why there is none.
fn parse_calls(suites: &BTreeMap<String, Value>) -> Result<u64, String> {
    let results = suites.values().find_map(|suite| suite["test_results"].as_object());
    let result = results.and_then(|results| results.iter().next());
    let Some((name, result)) = result else { return Err("forge ran no invariant".to_owned()) };
    let reason = first_line(result["reason"].as_str().unwrap_or("no reason")).to_owned();
    match (result["status"].as_str(), result["kind"]["Invariant"]["calls"].as_u64()) {
        (Some("Success"), Some(calls)) => Ok(calls),
        _ => Err(format!("forge ended at the first failure: {name}: {reason}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suites(document: &str) -> BTreeMap<String, Value> {
        parse_document(&format!("Compiling...\n{document}\n")).unwrap()
    }

    #[test]
    fn only_failures_of_the_replay_confirm_reproducers() {
        let found = suites(
            r#"{"reproducers/A.t.sol:A":{"test_results":{"test_replay()":{"status":"Failure","reason":"broken"}}},
            "reproducers/B.t.sol:B":{"test_results":{"test_replay()":{"status":"Success","reason":null}}},
            "reproducers/C.t.sol:C":{"test_results":{"setUp()":{"status":"Failure","reason":"EvmError: Revert"}}}}"#
                .replace('\n', "")
                .as_str(),
        );
        let files = ["A", "B", "C", "D"].map(|name| format!("{name}.t.sol"));
        let exceptions = find_exceptions(&files, &found);
        let exceptions: Vec<_> =
            exceptions.iter().map(|it| (it.file.as_str(), it.reason.as_str())).collect();
        assert_eq!(
            exceptions,
            [
                ("B.t.sol", "passes under forge"),
                ("C.t.sol", "setUp fails: EvmError: Revert"),
                ("D.t.sol", "forge did not run it"),
            ]
        );
    }

    #[test]
    fn calls_are_known_only_if_forge_went_on() {
        let held = suites(
            r#"{"t:C":{"test_results":{"invariant_noop()":{"status":"Success","kind":{"Invariant":{"runs":2,"calls":200,"reverts":9}}}}}}"#,
        );
        assert_eq!(parse_calls(&held), Ok(200));
        let failed = suites(
            r#"{"t:C":{"test_results":{"invariant_noop()":{"status":"Failure","reason":"assertion failed\nmore","kind":{"Invariant":{"runs":1,"calls":9,"reverts":0}}}}}}"#,
        );
        assert_eq!(
            parse_calls(&failed),
            Err("forge ended at the first failure: invariant_noop(): assertion failed".to_owned())
        );
        assert_eq!(parse_calls(&suites("{}")), Err("forge ran no invariant".to_owned()));
        assert!(parse_document("error: compiler run failed").is_none());
    }

    #[test]
    fn copy_leaves_out_generated_files() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        for file in ["src/A.sol", "lib/x/out/B.sol", "out/A.json", ".git/HEAD"] {
            fs::create_dir_all(from.join(file).parent().unwrap()).unwrap();
            fs::write(from.join(file), file).unwrap();
        }
        copy_sources(&from, &to).unwrap();
        let copied = list_sources(&to).unwrap();
        assert_eq!(copied, [PathBuf::from("lib/x/out/B.sol"), PathBuf::from("src/A.sol")]);
        assert!(!to.join("out").exists());
    }
}
