//! Secret files and source code with secret names, as `read_file`, `grep_codebase` and `context_search` see them.

use contract::ErrorCode;
use guard::DenyList;
use serde_json::{Value, json};

use crate::support::{PackSession, Project};

/// A word that no other file contains.
const WORD: &str = "zanzibar";

/// Returns which of the tools show something of the file.
fn tools_that_show(session: &PackSession, path: &str) -> Vec<&'static str> {
    let mut shown = Vec::new();
    match session.call("read_file", json!({"path": path})) {
        Ok(_) => shown.push("read_file"),
        Err(error) => assert_eq!(error.code, ErrorCode::AccessDenied, "{path}"),
    }
    let found = |answer: &Value| answer.to_string().contains(path);
    let grep = session.call("grep_codebase", json!({"pattern": WORD})).unwrap();
    if found(&grep["matches"]) {
        shown.push("grep_codebase");
    }
    if found(&session.search(WORD)["results"]) {
        shown.push("context_search");
    }
    shown
}

const ALL: [&str; 3] = ["read_file", "grep_codebase", "context_search"];

fn fake_token() -> String {
    format!("gh{}_{}", "p", "q7Zt4Kp9Xw2Lm5Vb8Nc3Rd6Hf1Jg0YsAe2Bf")
}

#[test]
fn no_tool_shows_a_secret_file() {
    let files = [
        "id_rsa",
        "deploy/ID_RSA.bak",
        "config/prod.env",
        "backup/tls.key.old",
        "kube/kubeconfig",
        "infra/terraform.tfstate",
        "infra/prod.tfvars",
        "wallet/mnemonic.txt",
        "credentials.json",
        "src/secrets/prod.json",
        "se\u{200b}cret.md",
        "Copy of passwords.kdbx",
        "secrets.py.txt",
    ];
    let project = Project::shop();
    files.iter().for_each(|path| project.write(path, format!("{WORD} = 1\n")));
    project.write("src/plain.rs", format!("fn {WORD}() {{}}\n"));
    let session = project.complete();
    assert_eq!(tools_that_show(&session, "src/plain.rs"), ALL);
    for path in files {
        assert_eq!(tools_that_show(&session, path), [""; 0], "{path}");
    }
}

#[test]
fn source_code_is_not_a_secret_because_of_its_name() {
    let project = Project::shop();
    let files = [
        (
            "src/VerifiableCredential.java",
            format!("public class VerifiableCredential {{ int {WORD}; }}\n"),
        ),
        ("pkg/secret_manager.go", format!("package pkg\n\nfunc Load() {{ {WORD}() }}\n")),
        ("app/credentials.py", format!("def load():\n    return {WORD}\n")),
        ("crates/secrets/src/lib.rs", format!("pub fn find() {{ {WORD}(); }}\n")),
        ("src/mnemonic.ts", format!("export function words() {{ return {WORD}; }}\n")),
    ];
    files.iter().for_each(|(path, text)| project.write(path, text));
    let session = project.complete();
    for (path, _) in &files {
        assert_eq!(tools_that_show(&session, path), ALL, "{path}");
    }
}

#[test]
fn source_code_with_a_secret_name_and_a_secret_is_hidden() {
    let project = Project::shop();
    let token = fake_token();
    let files = [
        ("app/credentials.py", format!("def load():\n    return '{token}'  # {WORD}\n")),
        ("app/secrets.js", format!("module.exports = {{ pin: '1234', {WORD}: 1 }};\n")),
        ("src/secrets/values.rs", format!("pub const A: &str = \"{WORD}\";\n")),
        (
            "pkg/secret.go",
            format!(
                "package pkg\n\nfunc F() {{}}\n\nconst Password = \"Xk29fLq81zPw\" // {WORD}\n"
            ),
        ),
    ];
    files.iter().for_each(|(path, text)| project.write(path, text));
    let session = project.complete();
    for (path, _) in &files {
        assert_eq!(tools_that_show(&session, path), [""; 0], "{path}");
    }
    // A secret that is added later hides the file, and its removal shows it again.
    project.write("app/secret_store.py", format!("def {WORD}():\n    pass\n"));
    assert_eq!(tools_that_show(&session, "app/secret_store.py"), ALL);
    project.write("app/secret_store.py", format!("def {WORD}():\n    return '{token}'\n"));
    assert_eq!(tools_that_show(&session, "app/secret_store.py"), [""; 0]);
    project.write("app/secret_store.py", format!("def {WORD}():\n    return 1\n"));
    assert_eq!(tools_that_show(&session, "app/secret_store.py"), ALL);
}

#[test]
fn links_do_not_show_secret_files() {
    let project = Project::shop();
    project.write("id_rsa", format!("{WORD}\n"));
    project.write("conf/.kube/config", format!("{WORD}\n"));
    project.write("src/secrets/prod.json", format!("{WORD}\n"));
    let links =
        [("a.rs", "id_rsa"), ("b.md", "conf/.kube/config"), ("c.rs", "src/secrets/prod.json")];
    for (link, target) in links {
        std::os::unix::fs::symlink(target, project.path(link)).unwrap();
    }
    let session = project.complete();
    for (link, _) in links {
        assert_eq!(tools_that_show(&session, link), [""; 0], "{link}");
    }
}

#[test]
fn index_forgets_files_that_the_configuration_denies_later() {
    let project = Project::shop();
    project.write("data/people.csv", format!("{WORD}\n"));
    project.write("tests/keys/tls.key", format!("{WORD}\n"));
    assert_eq!(tools_that_show(&project.complete(), "data/people.csv"), ALL);
    let deny = DenyList::default().with_pattern("data/*.csv").with_allowed("tests/keys/**");
    let mut options = project.options();
    options.deny = deny;
    let session = project.open_with(options);
    assert!(session.pack.index().run_to_completion(&|_| (), &|| false));
    assert_eq!(tools_that_show(&session, "data/people.csv"), [""; 0]);
    assert_eq!(tools_that_show(&session, "tests/keys/tls.key"), ALL);
}
