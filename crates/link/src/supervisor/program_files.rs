//! The files that belong to a server's program: the program itself, its interpreter, and the folders of libraries that
//! their layouts imply. Never the folder that the program is in, which may hold anything.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use super::server_stage::find_in_path;
use super::spec::SupervisorSpec;
use super::{sandbox, server_stage};
use crate::{SandboxPolicy, StdioProgram};

/// Maximum symbolic links in a path, as in the kernel.
const MAX_LINKS: usize = 40;
/// Maximum length of a chain of interpreters.
const MAX_INTERPRETERS: usize = 4;
/// Length of a `#!` line that the kernel reads.
const MAX_SHEBANG_BYTES: u64 = 256;
/// Programs whose first argument that is a file is the program to run.
const INTERPRETERS: [&str; 9] =
    ["node", "nodejs", "bun", "deno", "python", "ruby", "perl", "sh", "bash"];
/// Libraries beside a folder `bin`: of Node, of a Python virtual environment, of a Java runtime.
const LIBRARIES: [&str; 5] = ["lib", "lib64", "libexec", "conf", "pyvenv.cfg"];

/// A path without symbolic links, and the links that lead to it.
pub(super) struct ResolvedLinks {
    pub(super) real: PathBuf,
    /// Place and content of each link.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
}

/// Follows the symbolic links of an absolute path.
///
/// # Errors
/// If a component does not exist, or there are too many links.
pub(super) fn resolve_links(path: &Path) -> io::Result<ResolvedLinks> {
    let parts = |path: &Path| path.components().map(|part| part.as_os_str().to_owned()).collect();
    let mut remaining: VecDeque<_> = parts(path);
    let (mut real, mut links) = (PathBuf::from("/"), Vec::new());
    while let Some(part) = remaining.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => {
                real.pop();
            }
            Some(Component::Normal(name)) => {
                let next = real.join(name);
                if !next.symlink_metadata()?.is_symlink() {
                    real = next;
                    continue;
                }
                if links.len() == MAX_LINKS {
                    return Err(io::Error::from(rustix::io::Errno::LOOP));
                }
                let target = next.read_link()?;
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                let parts: Vec<_> = parts(&target).into();
                parts.into_iter().rev().for_each(|part| remaining.push_front(part));
                links.push((next, target));
            }
            _ => {}
        }
    }
    Ok(ResolvedLinks { real, links })
}

/// Returns the existing files and folders of the program and of the script that it runs.
pub(super) fn find_program_files(program: &Path, spec: &SupervisorSpec) -> Vec<PathBuf> {
    let write = match &spec.sandbox {
        SandboxPolicy::Off => &[][..],
        SandboxPolicy::Landlock { write, .. } => write,
        SandboxPolicy::Namespaces(policy) => &policy.write,
    };
    let writable = write.iter().filter_map(|path| spec.folder.join(path).canonicalize().ok());
    let mut found = FoundFiles { spec, writable: writable.collect(), paths: Vec::new() };
    found.add_executable(program, MAX_INTERPRETERS);
    if let Some(script) = find_script(program, spec) {
        found.add_executable(&script, 0);
    }
    let mut paths = found.paths;
    paths.sort();
    paths.dedup();
    paths
}

/// Returns the script that an interpreter runs: its first argument that is a file.
fn find_script(program: &Path, spec: &SupervisorSpec) -> Option<PathBuf> {
    let name = program.file_name()?.to_str()?;
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.contains(&name) {
        return None;
    }
    let mut words = spec.args.iter().filter(|word| !word.starts_with('-'));
    words.find_map(|word| Some(spec.folder.join(word)).filter(|path| path.is_file()))
}

struct FoundFiles<'s> {
    spec: &'s SupervisorSpec,
    /// The write grants. What is in them may have been put there by the server itself.
    writable: Vec<PathBuf>,
    paths: Vec<PathBuf>,
}

impl FoundFiles<'_> {
    /// Adds an executable file, its libraries, and its interpreter.
    fn add_executable(&mut self, file: &Path, more: usize) {
        let Ok(resolved) = resolve_links(file) else { return };
        if self.is_made_by_server(&resolved) {
            return;
        }
        self.paths.push(file.to_owned());
        // A layout may be visible in any of the names: `venv/bin/python` is a link to a Python elsewhere.
        let names = resolved.links.iter().map(|(place, _)| place).chain([&resolved.real]);
        let names: Vec<_> = names.cloned().chain([file.to_owned()]).collect();
        for name in &names {
            self.add_libraries(name);
        }
        if more > 0
            && let Some(interpreter) = self.find_interpreter(&resolved.real)
        {
            for program in interpreter {
                self.add_executable(&program, more - 1);
            }
        }
    }

    /// Returns true if a link in a write grant leads to a file outside that is not a program, such as a key.
    fn is_made_by_server(&self, resolved: &ResolvedLinks) -> bool {
        let is_writable = |path: &Path| self.writable.iter().any(|grant| path.starts_with(grant));
        resolved.links.iter().any(|(place, _)| is_writable(place))
            && !is_writable(&resolved.real)
            && !server_stage::is_executable(&resolved.real)
    }

    fn add_libraries(&mut self, executable: &Path) {
        let packages = executable.ancestors().filter(|path| path.ends_with("node_modules"));
        let is_real =
            |path: &&Path| path.canonicalize().is_ok_and(|real| real.ends_with("node_modules"));
        self.paths.extend(packages.last().filter(is_real).map(Path::to_owned));
        let Some(folder) = executable.parent().filter(|folder| folder.ends_with("bin")) else {
            return;
        };
        if let Some(prefix) = folder.parent().filter(|prefix| !self.is_too_wide(prefix)) {
            let beside = LIBRARIES.map(|name| prefix.join(name));
            // A link could lead anywhere.
            let real = prefix.canonicalize().unwrap_or_default();
            let is_beside =
                |path: &PathBuf| path.canonicalize().is_ok_and(|path| path.starts_with(&real));
            self.paths.extend(beside.into_iter().filter(is_beside));
        }
    }

    /// Returns true for folders that hold far more than a program: a home, a project, the root.
    fn is_too_wide(&self, prefix: &Path) -> bool {
        let home = self.spec.env.get("HOME").map(Path::new);
        let wide = ["/", "/root", "/tmp", "/home", "/var/tmp"]
            .iter()
            .any(|wide| prefix == Path::new(wide));
        wide || home == Some(prefix)
            || prefix.parent() == Some(Path::new("/home"))
            || prefix == self.spec.folder
            || prefix.join(".git").exists()
    }

    /// Returns the programs that the `#!` line of a script names: the interpreter, and with `env` what that looks up.
    fn find_interpreter(&self, script: &Path) -> Option<Vec<PathBuf>> {
        let mut line = Vec::new();
        fs::File::open(script).ok()?.take(MAX_SHEBANG_BYTES).read_to_end(&mut line).ok()?;
        let line = line.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
        let mut words = str::from_utf8(line).ok()?.split_whitespace();
        let mut programs = vec![self.spec.folder.join(words.next()?)];
        if programs[0].ends_with("env") {
            let name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
            let path = self.spec.env.get("PATH").map(String::as_str);
            programs.extend(find_in_path(name, path));
        }
        Some(programs)
    }
}

/// Returns existing paths that a server's command line names, or that its program may need, and that its sandbox does not
/// show. For messages about servers that exit at once.
pub(crate) fn find_missing_grants(program: &StdioProgram) -> Vec<PathBuf> {
    let (read, write) = match &program.sandbox {
        SandboxPolicy::Off => return Vec::new(),
        SandboxPolicy::Landlock { read, write, .. } => (read, write),
        SandboxPolicy::Namespaces(policy) => (&policy.read, &policy.write),
    };
    let spec = SupervisorSpec::from_program(program, String::new());
    let Ok(executable) = server_stage::resolve_program(&spec) else { return Vec::new() };
    let files = find_program_files(&executable, &spec);
    let system = sandbox::SYSTEM_FOLDERS.iter().map(PathBuf::from);
    let shown =
        read.iter().chain(write).map(|path| spec.folder.join(path)).chain(files).chain(system);
    let shown: Vec<_> = shown.filter_map(|path| path.canonicalize().ok()).collect();
    let is_hidden = |path: &PathBuf| !shown.iter().any(|shown| path.starts_with(shown));
    let arguments = spec.args.iter().filter_map(|word| word.rsplit('=').next());
    let arguments = arguments.filter(|word| word.contains('/')).map(|word| spec.folder.join(word));
    // The files beside a program or script may be modules or libraries of it.
    let script = find_script(&executable, &spec).unwrap_or(executable);
    let folder = script.canonicalize().ok().and_then(|path| Some(path.parent()?.to_owned()));
    let mut missing: Vec<_> = arguments
        .filter_map(|path| path.canonicalize().ok())
        .chain(folder)
        .filter(|path| path != Path::new("/") && is_hidden(path))
        .collect();
    missing.dedup();
    missing
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::NamespacePolicy;

    /// Creates files, and links where a target follows `->`. Returns the files of the first that is executed.
    fn check(files: &[&str], program: &str, args: &[&str], expected: &[&str]) {
        check_with_grant(None, files, program, args, expected);
    }

    /// Like [`check`], with a folder that the server may write.
    fn check_with_grant(
        write: Option<&str>,
        files: &[&str],
        program: &str,
        args: &[&str],
        expected: &[&str],
    ) {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for file in files {
            let (name, content) = file.split_once(' ').unwrap_or((file, ""));
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match content.strip_prefix("-> ") {
                Some(target) => symlink(target, path).unwrap(),
                None => fs::write(path, content.replace("ROOT", root.to_str().unwrap())).unwrap(),
            }
        }
        let spec = SupervisorSpec {
            nonce: String::new(),
            command: String::new(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: [("PATH".to_owned(), "/none".to_owned())].into(),
            folder: root.clone(),
            sandbox: match write {
                Some(write) => SandboxPolicy::Namespaces(Box::new(NamespacePolicy {
                    write: vec![write.into()],
                    ..NamespacePolicy::default()
                })),
                None => SandboxPolicy::Off,
            },
        };
        let found = find_program_files(&root.join(program), &spec);
        let found: Vec<_> =
            found.iter().filter_map(|path| path.strip_prefix(&root).ok()?.to_str()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn program_comes_without_its_folder() {
        check(
            &["tools/server", "tools/id_rsa", "tools/lib/x"],
            "tools/server",
            &[],
            &["tools/server"],
        );
        // The prefix is the working directory, or a repository.
        check(&["bin/server", "lib/x"], "bin/server", &[], &["bin/server"]);
        check(
            &["a/bin/server", "a/lib/x", "a/.git/config"],
            "a/bin/server",
            &[],
            &["a/bin/server"],
        );
    }

    #[test]
    fn virtual_environment_comes_with_its_libraries_and_base() {
        check(
            &[
                "venv/bin/tool #!ROOT/venv/bin/python\n",
                "venv/bin/python -> python3",
                "venv/bin/python3 -> ../../base/bin/python3.12",
                "venv/lib/x",
                "venv/share/x",
                "venv/pyvenv.cfg",
                "base/bin/python3.12",
                "base/lib/x",
            ],
            "venv/bin/tool",
            &[],
            &["base/lib", "venv/bin/python", "venv/bin/tool", "venv/lib", "venv/pyvenv.cfg"],
        );
    }

    #[test]
    fn links_do_not_make_other_folders_libraries() {
        check(
            &["keys/id_rsa", "a/bin/server", "a/lib -> ../keys", "a/lib64 -> conf", "a/conf/x"],
            "a/bin/server",
            &[],
            &["a/bin/server", "a/conf", "a/lib64"],
        );
        let files = ["keys/mcp/index.js", "a/node_modules -> ../keys", "own/node"];
        let script = "a/node_modules/mcp/index.js";
        check(&files, "own/node", &[script], &[script, "own/node"]);
    }

    #[test]
    fn link_that_a_server_made_shows_no_file() {
        let files = ["keys/id_rsa", "out/main.py -> ../keys/id_rsa", "out/real.py", "own/python3"];
        let link = "out/main.py";
        check(&files, "own/python3", &[link], &[link, "own/python3"]);
        check_with_grant(Some("out"), &files, "own/python3", &[link], &["own/python3"]);
        let real = "out/real.py";
        check_with_grant(Some("out"), &files, "own/python3", &[real], &[real, "own/python3"]);
    }

    #[test]
    fn script_comes_with_its_packages() {
        let files = [
            "cache/ab/node_modules/.bin/mcp -> ../@a/mcp/dist/index.js",
            "cache/ab/node_modules/@a/mcp/dist/index.js #!/usr/bin/env node\n",
            "cache/ab/node_modules/zod/index.js",
            "cache/secret",
            "own/node",
            "own/index.js",
            "own/data",
        ];
        let program = "cache/ab/node_modules/.bin/mcp";
        check(&files, program, &[], &["cache/ab/node_modules", program]);
        let script = "cache/ab/node_modules/@a/mcp/dist/index.js";
        check(&files, "own/node", &["--x", script], &["cache/ab/node_modules", script, "own/node"]);
        check(&files, "own/node", &["own/index.js", "own/data"], &["own/index.js", "own/node"]);
    }
}
