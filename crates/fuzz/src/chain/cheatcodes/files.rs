//! Cheat codes that read files of the project. They are run only in a project that the user trusts, and read what
//! `fs_permissions` of `foundry.toml` names.

use std::sync::Arc;

use alloy_primitives::{Bytes, U256};

use super::args::CheatcodeArgs;
use super::table::CheatcodeEntry;
use super::{CheatcodeCall, CheatcodeError, CheatcodeResult, encoding};
use crate::chain::NotRunReason;
use crate::config::ProjectAccess;

/// Files that are read line by line, with the number of lines that were read. Checkpoints share them.
pub(in super::super) type OpenFiles = Option<Arc<Vec<(String, usize)>>>;

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("readFile(string)", |call, args| {
        let text = read_text(call, &args.read_text()?, "readFile")?;
        Ok(encoding::encode_string(&text))
    }),
    ("readFileBinary(string)", |call, args| {
        let bytes = read_bytes(call, &args.read_text()?, "readFileBinary")?;
        Ok(encoding::encode_bytes(&bytes))
    }),
    ("readLine(string)", read_line),
    ("closeFile(string)", close_file),
    ("exists(string)", |call, args| has_metadata(call, args, "exists", |_| true)),
    ("isFile(string)", |call, args| has_metadata(call, args, "isFile", std::fs::Metadata::is_file)),
    ("isDir(string)", |call, args| has_metadata(call, args, "isDir", std::fs::Metadata::is_dir)),
    ("projectRoot()", |call, _| {
        let access = require_access(call, "projectRoot", "the path of the project")?;
        Ok(encoding::encode_string(&access.root.to_string_lossy()))
    }),
];

/// Returns what may be read. Errors if the project is not trusted: the test is not run then.
pub(super) fn require_access(
    call: &CheatcodeCall<'_>,
    cheatcode: &str,
    what: &str,
) -> Result<Arc<ProjectAccess>, CheatcodeError> {
    call.context.chain.cheats.access.clone().ok_or_else(|| {
        let text = format!(
            "the cheat code vm.{cheatcode} reads {what}; run `vouch trust` in the project to allow it"
        );
        CheatcodeError::NotRun(NotRunReason::RefusedCheatcode(text))
    })
}

fn read_bytes(
    call: &CheatcodeCall<'_>,
    path: &str,
    cheatcode: &str,
) -> Result<Vec<u8>, CheatcodeError> {
    let access = require_access(call, cheatcode, "a file")?;
    access.read_file(path).map_err(|error| CheatcodeError::InvalidUse(error.to_string()))
}

fn read_text(
    call: &CheatcodeCall<'_>,
    path: &str,
    cheatcode: &str,
) -> Result<String, CheatcodeError> {
    String::from_utf8(read_bytes(call, path, cheatcode)?)
        .map_err(|_| CheatcodeError::InvalidUse(format!("`{path}` is not UTF-8")))
}

/// Returns the next line of a file, or an empty string at its end.
fn read_line(call: &mut CheatcodeCall<'_>, args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let path = args.read_text()?;
    let text = read_text(call, &path, "readLine")?;
    let files = Arc::make_mut(call.context.chain.cheats.open_files.get_or_insert_default());
    let index = files.iter().position(|(name, _)| *name == path).unwrap_or_else(|| {
        files.push((path, 0));
        files.len() - 1
    });
    let line = text.lines().nth(files[index].1).unwrap_or_default();
    files[index].1 += 1;
    Ok(encoding::encode_string(line))
}

fn close_file(call: &mut CheatcodeCall<'_>, args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let path = args.read_text()?;
    require_access(call, "closeFile", "a file")?;
    if let Some(files) = &mut call.context.chain.cheats.open_files {
        Arc::make_mut(files).retain(|(name, _)| *name != path);
    }
    Ok(Bytes::new())
}

fn has_metadata(
    call: &CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
    cheatcode: &str,
    is_wanted: fn(&std::fs::Metadata) -> bool,
) -> CheatcodeResult {
    let path = args.read_text()?;
    let access = require_access(call, cheatcode, "a file")?;
    let found = access.find_metadata(&path);
    let found = found.map_err(|error| CheatcodeError::InvalidUse(error.to_string()))?;
    Ok(encoding::encode_word(U256::from(found.is_some_and(|it| is_wanted(&it)))))
}
