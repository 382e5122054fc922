//! Extra paths that any folder may have, as each part of a monorepo has its own `.cursor/rules`.

use crate::rules::OneByOne;
use crate::{Tree, is_within};

impl Tree {
    /// The extra paths below the folders that were entered, and those that `folder` is on the way to or part of.
    pub(crate) fn extra_of(&self, entered: &[String], folder: &str) -> Vec<String> {
        let mut all = Vec::new();
        for extra in &self.extra_anywhere {
            // One look at each folder, since most have none.
            let first = extra.split('/').next().unwrap_or(extra);
            let is_there =
                |host: &&String| self.absolute(&joined(host, first)).symlink_metadata().is_ok();
            all.extend(entered.iter().filter(is_there).map(|host| joined(host, extra)));
            let hosts = hosts(folder, extra).filter(|host| self.folder_counts(host));
            all.extend(hosts.map(|host| joined(host, extra)));
        }
        all
    }

    /// Whether a path is one of these, or lies below one.
    pub(crate) fn is_extra_anywhere(&self, path: &str, rules: &mut OneByOne) -> bool {
        self.extra_anywhere.iter().any(|extra| {
            hosts(path, extra).any(|host| {
                is_within(path, &joined(host, extra))
                    && (host.is_empty() || rules.lets_through(host, true))
            })
        })
    }
}

/// The folders that would have `path` on the way to their extra path, or in it.
fn hosts<'a>(path: &'a str, extra: &'a str) -> impl Iterator<Item = &'a str> {
    let first = extra.split('/').next().unwrap_or(extra);
    let mut start = 0;
    path.split('/').filter_map(move |name| {
        let host = path[..start].trim_end_matches('/');
        start += name.len() + 1;
        (name == first).then_some(host)
    })
}

fn joined(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_have_several_hosts() {
        let found = |path| hosts(path, ".d/x").collect::<Vec<_>>();
        assert_eq!(found(".d"), [""]);
        assert_eq!(found("a/.d/x/b"), ["a"]);
        assert_eq!(found("a/.d/b/.d"), ["a", "a/.d/b"]);
        assert_eq!(found("a/.dd"), [""; 0]);
    }
}
