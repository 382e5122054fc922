//! What happens to a project: files are written, moved and removed, rules change, branches are checked out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sample::Dice;
use crate::subject::exists;

/// Makes a repository of the tree, with one commit.
pub(crate) fn begin(root: PathBuf) {
    git(&root, &["init", "--initial-branch=main"]);
    commit(&root);
}

/// Some changes; gives words that came or went with them.
pub(crate) fn change(root: PathBuf, dice: &mut Dice) -> Vec<String> {
    let mut words = Vec::new();
    for _ in 0..1 + dice.below(6) {
        let word = format!("needle{}", dice.below(40));
        match dice.below(12) {
            0..=2 => fs::write(file(&root, dice), format!("{word}\n")).unwrap(),
            3 | 4 => {
                let path = file(&root, dice);
                let mut content = fs::read(&path).unwrap();
                content.extend_from_slice(format!("\n{word}").as_bytes());
                fs::write(path, content).unwrap();
            }
            5 => {
                let folder = root.join(format!("new{}/in", dice.below(3)));
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join(format!("{}.txt", dice.below(4))), &word).unwrap();
            }
            6 => fs::remove_file(file(&root, dice)).unwrap(),
            7 => {
                let to = root.join(format!("moved{}", dice.below(50)));
                if !exists(&to) {
                    fs::rename(file(&root, dice), to).unwrap();
                }
            }
            8 => {
                // A folder, into another or to a new name.
                let from = file(&root, dice).parent().unwrap().to_owned();
                let to = root.join(format!("folder{}", dice.below(20)));
                if from != root && !exists(&to) {
                    fs::rename(from, to).unwrap();
                }
            }
            9 => {
                let rules = *dice.one_of(&[
                    "*.txt\n",
                    "new1/\n",
                    "moved*\n!moved7\n",
                    "/folder3\n",
                    "\n",
                    "*.py\n*.js\n",
                ]);
                let folder = file(&root, dice).parent().unwrap().to_owned();
                let folder = if dice.below(2) == 0 { root.clone() } else { folder };
                fs::write(folder.join(dice.one_of(&[".gitignore", ".ignore"])), rules).unwrap();
            }
            10 => commit(&root),
            _ => {
                // Back to some earlier state, and everything as it was there.
                let commits = git(&root, &["rev-list", "--all"]);
                let commits: Vec<_> = commits.lines().collect();
                commit(&root);
                let earlier = *dice.one_of(&commits);
                git(&root, &["checkout", "--quiet", "--force", earlier]);
            }
        }
        words.push(word);
    }
    words
}

fn commit(root: &Path) {
    git(root, &["add", "--all", "--force"]);
    git(root, &["commit", "--quiet", "--allow-empty", "--message", "state"]);
}

fn git(root: &Path, arguments: &[&str]) -> String {
    let identity = [
        "-c",
        "user.name=test",
        "-c",
        "user.email=test@localhost",
        "-c",
        "gc.auto=0",
        "-c",
        "commit.gpgsign=false",
    ];
    let output =
        Command::new("git").current_dir(root).args(identity).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A regular file of the tree.
fn file(root: &Path, dice: &mut Dice) -> PathBuf {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<_> = fs::read_dir(&folder).unwrap().map(Result::unwrap).collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() && entry.file_name() != ".git" {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    dice.one_of(&found).clone()
}
