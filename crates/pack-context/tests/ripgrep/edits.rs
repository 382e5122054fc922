//! Random edits of a project: files are written, moved and removed, ignore rules change, commits are checked out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::comparison::exists;
use crate::sample::SeededRng;

/// Turns the tree into a git repository with one commit.
pub(crate) fn init_repository(root: PathBuf) {
    git(&root, &["init", "--initial-branch=main"]);
    commit(&root);
}

/// Applies random edits; returns words that they added or removed.
pub(crate) fn apply_random_edits(root: PathBuf, rng: &mut SeededRng) -> Vec<String> {
    let mut words = Vec::new();
    for _ in 0..1 + rng.below(6) {
        let word = format!("needle{}", rng.below(40));
        match rng.below(12) {
            0..=2 => fs::write(random_file(&root, rng), format!("{word}\n")).unwrap(),
            3 | 4 => {
                let path = random_file(&root, rng);
                let mut content = fs::read(&path).unwrap();
                content.extend_from_slice(format!("\n{word}").as_bytes());
                fs::write(path, content).unwrap();
            }
            5 => {
                let folder = root.join(format!("new{}/in", rng.below(3)));
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join(format!("{}.txt", rng.below(4))), &word).unwrap();
            }
            6 => fs::remove_file(random_file(&root, rng)).unwrap(),
            7 => {
                let to = root.join(format!("moved{}", rng.below(50)));
                if !exists(&to) {
                    fs::rename(random_file(&root, rng), to).unwrap();
                }
            }
            8 => {
                // Move a folder.
                let from = random_file(&root, rng).parent().unwrap().to_owned();
                let to = root.join(format!("folder{}", rng.below(20)));
                if from != root && !exists(&to) {
                    fs::rename(from, to).unwrap();
                }
            }
            9 => {
                let rules = *rng.choose(&[
                    "*.txt\n",
                    "new1/\n",
                    "moved*\n!moved7\n",
                    "/folder3\n",
                    "\n",
                    "*.py\n*.js\n",
                ]);
                let folder = random_file(&root, rng).parent().unwrap().to_owned();
                let folder = if rng.below(2) == 0 { root.clone() } else { folder };
                fs::write(folder.join(rng.choose(&[".gitignore", ".ignore"])), rules).unwrap();
            }
            10 => commit(&root),
            _ => {
                // Check out an earlier commit.
                let commits = git(&root, &["rev-list", "--all"]);
                let commits: Vec<_> = commits.lines().collect();
                commit(&root);
                let earlier = *rng.choose(&commits);
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

/// Returns a random regular file of the tree.
fn random_file(root: &Path, rng: &mut SeededRng) -> PathBuf {
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
    rng.choose(&found).clone()
}
