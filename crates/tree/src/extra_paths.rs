//! Extra paths that any folder may contain, such as the `.cursor/rules` of each package in a monorepo.

use crate::rules::IgnoreMatcher;
use crate::{FileTree, is_within};

impl FileTree {
    /// Returns the extra paths below the folders in `entered`, and those that are ancestors or descendants of `folder`.
    pub(crate) fn find_extra_paths(&self, entered: &[String], folder: &str) -> Vec<String> {
        let mut all = Vec::new();
        for extra in &self.extra_anywhere {
            // One `lstat` for each folder, since most folders have no extra path.
            let first = extra.split('/').next().unwrap_or(extra);
            let is_there = |host: &&String| {
                self.absolute_path(&join_path(host, first)).symlink_metadata().is_ok()
            };
            all.extend(entered.iter().filter(is_there).map(|host| join_path(host, extra)));
            let hosts =
                find_host_folders(folder, extra).filter(|host| self.is_included_folder(host));
            all.extend(hosts.map(|host| join_path(host, extra)));
        }
        all
    }

    /// Returns true if `path` is such an extra path, or is below one.
    pub(crate) fn is_extra_anywhere(&self, path: &str, rules: &mut IgnoreMatcher) -> bool {
        self.extra_anywhere.iter().any(|extra| {
            find_host_folders(path, extra).any(|host| {
                is_within(path, &join_path(host, extra))
                    && (host.is_empty() || rules.allows_path(host, true))
            })
        })
    }
}

/// Returns the folders for which `path` is on the way to their extra path, or inside it.
fn find_host_folders<'a>(path: &'a str, extra: &'a str) -> impl Iterator<Item = &'a str> {
    let first = extra.split('/').next().unwrap_or(extra);
    let mut start = 0;
    path.split('/').filter_map(move |name| {
        let host = path[..start].trim_end_matches('/');
        start += name.len() + 1;
        (name == first).then_some(host)
    })
}

fn join_path(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_host_folder_of_a_path() {
        let found = |path| find_host_folders(path, ".d/x").collect::<Vec<_>>();
        assert_eq!(found(".d"), [""]);
        assert_eq!(found("a/.d/x/b"), ["a"]);
        assert_eq!(found("a/.d/b/.d"), ["a", "a/.d/b"]);
        assert_eq!(found("a/.dd"), [""; 0]);
    }
}
