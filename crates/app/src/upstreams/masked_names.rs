//! The names of files that are empty for a server in its sandbox: those that no tool may read, and those of clients.

use link::MaskedNames;

use crate::clients::McpClient;
use crate::config::Settings;
use crate::env::Environment;

/// Files into which `vouch connect` writes the token of the project. A server with it could use the grants of others.
const CLIENT_FILES: [&str; 4] =
    [".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".codex/config.toml"];

/// Files of a Git folder that may hold passwords.
const GIT_FILES: [&str; 3] = [".git/config", ".git/config.worktree", "*.git/config"];

/// Returns the names that no server may read: those that no tool may read, with one exception. Of Git's folder only the
/// configuration is masked, which may hold passwords, so that servers for Git work.
pub(super) fn list_masked_names(settings: &Settings, environment: &Environment) -> MaskedNames {
    let list = settings.deny_list().with_source_exception();
    let patterns = list.patterns().filter(|pattern| *pattern != ".git");
    let source_groups = guard::SECRET_FILE_GROUPS.iter().filter(|group| group.may_be_source);
    let source_words: Vec<&str> = source_groups.flat_map(|group| group.patterns).copied().collect();
    let (words, patterns): (Vec<_>, Vec<_>) =
        patterns.map(str::to_owned).partition(|pattern| source_words.contains(&pattern.as_str()));
    // Nothing relaxes a pattern with a folder, and nothing may relax those of the operator.
    let operator = settings.secrets.deny.iter().map(|pattern| format!("*/{pattern}"));
    let own = CLIENT_FILES.into_iter().chain(GIT_FILES).map(str::to_owned);
    MaskedNames {
        patterns: (patterns.into_iter().chain(operator).chain(own))
            .chain(find_codex_file(settings, environment))
            .collect(),
        words,
        harmless: (guard::HARMLESS_PATTERNS.iter().map(|&pattern| pattern.to_owned()))
            .chain(settings.secrets.allow.iter().cloned())
            .collect(),
    }
}

/// Returns the folder and name of Codex's configuration. Its folder has the name that the user chose (`CODEX_HOME`).
fn find_codex_file(settings: &Settings, environment: &Environment) -> Option<String> {
    let file = McpClient::Codex.config_path(&settings.root, environment)?;
    let (folder, name) = (file.parent()?.file_name()?, file.file_name()?);
    Some(format!("{}/{}", folder.to_string_lossy(), name.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use link::{NetworkAccess, ResourceLimits};

    use super::*;
    use crate::config::{
        ConfigLayer, FILE_NAME, ProjectLocation, SandboxConfig, SandboxGrants, load_settings,
    };
    use crate::env::EnvVar;

    struct MaskedProject {
        settings: Settings,
        environment: Environment,
        records: PathBuf,
        _folder: tempfile::TempDir,
    }

    fn project(config: &str) -> MaskedProject {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("app");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join(FILE_NAME), config).unwrap();
        let environment = Environment::from_values(&[
            (EnvVar::StateHome, &base.join("state")),
            (EnvVar::DataHome, &base.join("data")),
            (EnvVar::CodexHome, &base.join("my-codex")),
        ]);
        let place = ProjectLocation { root: Some(root), trust: true, config: None };
        let settings = load_settings(&place, &environment, ConfigLayer::default()).unwrap();
        MaskedProject {
            settings,
            environment,
            records: base.join("data/vouch/trust"),
            _folder: folder,
        }
    }

    fn masked(config: &str) -> MaskedNames {
        let project = project(config);
        list_masked_names(&project.settings, &project.environment)
    }

    fn has(patterns: &[String], wanted: &str) -> bool {
        patterns.iter().any(|pattern| pattern == wanted)
    }

    #[test]
    fn servers_may_not_read_what_tools_may_not_read() {
        let names = masked("");
        for group in guard::SECRET_FILE_GROUPS {
            for pattern in group.patterns {
                let (listed, other) = match group.may_be_source {
                    true => (&names.words, &names.patterns),
                    false => (&names.patterns, &names.words),
                };
                assert!(has(listed, pattern) && !has(other, pattern), "{pattern}");
            }
        }
        // The folder of earlier versions with their state.
        assert!(has(&names.patterns, ".vouch"));
        let harmless = guard::HARMLESS_PATTERNS.map(str::to_owned);
        assert_eq!(names.harmless, harmless);
    }

    #[test]
    fn git_works_without_its_passwords() {
        let names = masked("");
        assert!(!has(&names.patterns, ".git") && !has(&names.words, ".git"));
        assert!(has(&names.patterns, ".git/config"));
    }

    #[test]
    fn files_of_clients_are_masked() {
        let names = masked("");
        for file in CLIENT_FILES.into_iter().chain(["my-codex/config.toml"]) {
            assert!(has(&names.patterns, file), "{file}");
        }
        // Each client has a file that is masked by its name, or in a folder of the default list.
        let environment = Environment::from_values(&[(EnvVar::Home, Path::new("/home/ada"))]);
        for client in McpClient::ALL {
            let file = client.config_path(Path::new("/p"), &environment).unwrap();
            let is_masked = names.patterns.iter().any(|pattern| file.ends_with(pattern));
            assert!(is_masked, "{}", file.display());
        }
    }

    #[test]
    fn operator_extends_and_relaxes_the_list() {
        let names = masked(
            "[secrets]\ndeny = [\"*.dump\", \"*secret*\", \"deploy/*.yml\"]\nallow = [\"*.pem\"]\n",
        );
        for pattern in ["*.dump", "*/*.dump", "*/*secret*", "*/deploy/*.yml"] {
            assert!(has(&names.patterns, pattern), "{pattern}");
        }
        assert!(has(&names.harmless, "*.pem"));
    }

    #[test]
    fn servers_may_not_read_trust_records() {
        let project = project("");
        let full = SandboxConfig::Full(SandboxGrants {
            read: vec![],
            write: vec![],
            network: NetworkAccess::None,
            limits: ResourceLimits::default(),
        });
        let policy = super::super::sandbox_policy(&full, &project.settings, &project.environment);
        let link::SandboxPolicy::Namespaces(policy) = policy else { panic!("{policy:?}") };
        assert!(policy.hidden.contains(&project.records), "{:?}", policy.hidden);
        assert!(project.settings.protected.check_read(&project.records).is_err());
    }
}
