//! Tables of names: common secret files that must be denied, and innocent files that must not be.

use super::*;

/// Common secret files, collected from the path rules of secret scanners and from ignore-file templates.
const SECRET_PATHS: &[&str] = &[
    ".env",
    ".env.local",
    ".env.production",
    ".env.development.local",
    ".envrc",
    "prod.env",
    "config/staging.env",
    "docker/.env.prod",
    ".flaskenv",
    ".dev.vars",
    "local.settings.json",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    "id_rsa_work",
    ".ssh/id_rsa",
    ".ssh/config",
    "home/me/.ssh/deploy",
    "deploy_rsa",
    "github_ed25519",
    "server_dsa",
    "my_ecdsa",
    "putty.ppk",
    "ssh_host_rsa_key",
    "ssh_host_ed25519_key",
    ".npmrc",
    "packages/a/.npmrc",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".gem/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet.Config",
    ".bundle/config",
    ".pip/pip.conf",
    ".config/pip/pip.conf",
    ".composer/auth.json",
    ".pgpass",
    "pgpass.conf",
    ".my.cnf",
    ".mylogin.cnf",
    ".mongorc.js",
    ".dbshell",
    ".databrickscfg",
    ".snowsql/config",
    ".dbt/profiles.yml",
    "dbeaver-data-sources.xml",
    "robomongo.json",
    ".cassandra/cqlshrc",
    ".aws/credentials",
    ".aws/config",
    ".azure/accessTokens.json",
    ".azure/azureProfile.json",
    ".config/gcloud/application_default_credentials.json",
    ".config/gcloud/access_tokens.db",
    "service-account.json",
    "service-account-prod.json",
    "my-service-account.json",
    "app-firebase-adminsdk-x1y2.json",
    "gcp-key.json",
    ".kube/config",
    "kubeconfig",
    "kubeconfig.yaml",
    "prod.kubeconfig",
    "etc/kubernetes/admin.conf",
    ".docker/config.json",
    ".dockercfg",
    ".dockerconfigjson",
    ".config/containers/auth.json",
    ".boto",
    ".s3cfg",
    ".passwd-s3fs",
    "rclone.conf",
    ".oci/config",
    ".aliyun/config.json",
    ".bluemix/config.json",
    ".config/doctl/config.yaml",
    ".config/hcloud/cli.toml",
    ".fly/config.yml",
    ".edgerc",
    ".cloudflared/cert.pem",
    ".kaggle/kaggle.json",
    "kaggle.json",
    ".huggingface/token",
    "prod.publishsettings",
    "ServiceConfiguration.cscfg",
    ".config/gh/hosts.yml",
    ".config/hub",
    ".git-credentials",
    ".sentryclirc",
    ".codex/auth.json",
    ".claude.json",
    "claude_desktop_config.json",
    ".gemini/oauth_creds.json",
    ".subversion/auth/svn.simple/a",
    ".circleci/cli.yml",
    "server.key",
    "tls.pem",
    "cert.p12",
    "cert.pfx",
    "bundle.pkcs12",
    "AuthKey_X.p8",
    "release.jks",
    "debug.keystore",
    "store.bks",
    "krb5.keytab",
    "signing.snk",
    "secring.gpg",
    ".gnupg/private-keys-v1.d/A.key",
    "app.pk8",
    "certificate.pvk",
    ".config/sops/age/keys.txt",
    "recovery.bek",
    "otr.private_key",
    "conf/truststore.jks",
    "terraform.tfstate",
    "terraform.tfstate.backup",
    "terraform.tfstate.d/prod/x.tfstate",
    "prod.tfvars",
    "prod.auto.tfvars",
    "terraform.tfvars.json",
    ".terraformrc",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".vault_pass.txt",
    "vault-password-file",
    ".htpasswd",
    "htpasswd",
    "etc/shadow",
    "wp-config.php",
    "LocalSettings.php",
    "client.ovpn",
    "wg0.conf",
    "wireguard/peer.conf",
    "office.rdp",
    "sftp-config.json",
    ".vscode/sftp.json",
    ".ftpconfig",
    "filezilla.xml",
    "sitemanager.xml",
    "recentservers.xml",
    "unattend.xml",
    ".chef/knife.rb",
    "wpa_supplicant.conf",
    ".pulumi/credentials.json",
    "proftpdpasswd",
    "ipsec.secrets",
    "wallet.dat",
    "UTC--2024-01-01T00-00-00.000Z--abc",
    "keystore/UTC--2024--abc",
    ".config/solana/id.json",
    "deployer-keypair.json",
    "mnemonic.txt",
    "my-mnemonic",
    "seed.txt",
    "seed-phrase.txt",
    "main.wallet",
    ".ethereum/keystore/x",
    ".bitcoin/wallet.dat",
    ".foundry/keystores/deployer",
    ".brownie/accounts/a.json",
    "passwords.kdbx",
    "old.kdb",
    "vault.agilekeychain",
    "me.opvault",
    "export.1pif",
    "safe.psafe3",
    "login.keychain",
    "login.keychain-db",
    "kdewallet.kwallet",
    ".password-store/a.gpg",
    "logins.json",
    "key4.db",
    "signons.sqlite",
    "cookies.sqlite",
    "cookies.txt",
    "Login Data",
    "Default/Cookies",
    ".bash_history",
    ".zsh_history",
    ".psql_history",
    ".mysql_history",
    ".rediscli_history",
    ".python_history",
    ".node_repl_history",
    ".irb_history",
    "fish_history",
    ".viminfo",
    "ConsoleHost_history.txt",
    ".muttrc",
    ".msmtprc",
    ".fetchmailrc",
    ".offlineimaprc",
    ".authinfo",
    ".irssi/config",
    ".purple/accounts.xml",
    ".weechat/sec.conf",
    ".smbcredentials",
    "secrets.yml",
    "secret.txt",
    "client_secret.json",
    "credentials.json",
    "credentials.csv",
    "passwords.txt",
    "password.txt",
    "api-keys.txt",
    "apikey.txt",
    "private-key.txt",
    "app/private_key.xml",
    "secrets/prod.json",
    "config/credentials.yml.enc",
    "credentials.xml",
];

/// Files of ordinary projects, some with similar names, that must stay readable for the context tools.
const INNOCENT_PATHS: &[&str] = &[
    "README.md",
    "LICENSE",
    "Cargo.toml",
    "Cargo.lock",
    "package.json",
    "package-lock.json",
    "yarn.lock",
    "go.mod",
    "go.sum",
    "pyproject.toml",
    "poetry.lock",
    "Gemfile",
    "Gemfile.lock",
    "Makefile",
    "Dockerfile",
    "docker-compose.yml",
    ".gitignore",
    ".gitattributes",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    ".dockerignore",
    ".editorconfig",
    ".eslintrc.json",
    ".prettierrc",
    ".nvmrc",
    ".tool-versions",
    ".vscode/settings.json",
    ".cargo/config.toml",
    ".docker/Dockerfile",
    ".terraform.lock.hcl",
    "main.tf",
    "variables.tf",
    "example.tfvars.example",
    "src/main.rs",
    "src/lib.rs",
    "src/env.rs",
    "src/key.rs",
    "src/keys.ts",
    "src/environment.ts",
    "env.d.ts",
    "src/secretary.rs",
    "src/VerifiableCredential.java",
    "pkg/secret_manager.go",
    "app/credentials.py",
    "crates/secrets/src/lib.rs",
    "src/secrets/store.ts",
    "lib/credential/provider.rb",
    "contracts/SecretBallot.sol",
    "web/SecretField.tsx",
    "src/mnemonic.rs",
    "wallet/mnemonic/bip39.go",
    "src/private_key.cpp",
    "ssh/test_rsa/sign.c",
    "src/passwords.py",
    "internal/apikey/handler.go",
    "src/keystore/mod.rs",
    "keystore/README.md",
    "id_rsa.pub",
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.production.example",
    ".env.dist",
    "example.env",
    "secrets.yml.example",
    "credentials.json.sample",
    "deploy_rsa.pub",
    "id_ed25519_work.pub",
    "tests/env_test.go",
    "environment.yml",
    "venv.md",
    "env",
    "envoy.yaml",
    "keyboard.md",
    "monkey.json",
    "keynote.md",
    "keys.md",
    "pem.txt",
    "public.crt",
    "ca.cer",
    "cert.der",
    "authorized_keys",
    "known_hosts",
    "history.md",
    "docs/history.rst",
    "HISTORY.txt",
    "CHANGELOG",
    "wallet.ts",
    "Wallet.json",
    "locales/en/auth.json",
    "auth.json",
    "auth.ts",
    "config.json",
    "config.yaml",
    "config/database.yml",
    "settings.py",
    "settings.xml",
    "config",
    "kube/config.yaml",
    "docker/config.json",
    "hosts.yml",
    "admin.conf",
    "nginx.conf",
    "wsgi.conf",
    "gcloud/client.py",
    "identity/README.md",
    "identity.ts",
    "token.rs",
    "tokens.json",
    "tokenizer.json",
    "password-reset.md",
    "forgot_password.html",
    "password.vue",
    "cookie.ts",
    "Cookies.md",
    "accounts.json",
    "seed.sql",
    "seeds/users.json",
    "db/seeds.rb",
    "shadow.css",
    "login.html",
    "data.bak",
    "notes.old",
    "archive.zip",
    "dump.sql.gz",
    "backup.tar.gz",
    "image.png",
    "index.html",
    "style.css",
    "a.1",
    "man/vouch.1",
    "release-1.2.3.tar.gz",
    "2024-01-15.md",
    "x~",
    "rds.tf",
    "service.json",
    "account.json",
    "yarnrc.yml",
    ".yarnrc.yml",
    "nuget.config",
    "pip.conf",
    "kubectl.md",
];

#[test]
fn denies_common_secret_files_in_both_modes() {
    assert!(SECRET_PATHS.len() >= 150, "{}", SECRET_PATHS.len());
    let (strict, relaxed) = (DenyList::default(), DenyList::default().with_source_exception());
    let readable: Vec<_> = SECRET_PATHS
        .iter()
        .filter(|path| {
            strict.check_file_path(path).is_ok() || relaxed.check_file_path(path).is_ok()
        })
        .collect();
    assert_eq!(readable, Vec::<&&str>::new());
}

#[test]
fn allows_ordinary_files() {
    assert!(INNOCENT_PATHS.len() >= 100, "{}", INNOCENT_PATHS.len());
    let list = DenyList::default().with_source_exception();
    let denied: Vec<_> = INNOCENT_PATHS
        .iter()
        .filter_map(|path| list.check_file_path(path).err().map(|pattern| (path, pattern)))
        .collect();
    assert_eq!(denied, Vec::new());
}

#[test]
fn denies_copies_of_every_secret_file() {
    let list = DenyList::default().with_source_exception();
    for path in SECRET_PATHS {
        let (folder, name) = path.rsplit_once('/').map_or(("", *path), |(a, b)| (a, b));
        let copies = [
            format!("{name}.bak"),
            format!("{name}~"),
            format!("{name}.old.gz"),
            format!("#{name}#"),
            format!("Copy of {name}"),
            format!(".{name}.swp"),
            format!("{name}.2024-01-15"),
            format!("{name}.orig"),
        ];
        for copy in copies {
            let path = format!("{folder}/{copy}");
            assert!(list.check_file_path(path.trim_start_matches('/')).is_err(), "{path}");
        }
    }
}

#[test]
fn denies_names_in_any_case_and_disguise() {
    let list = DenyList::default().with_pattern("node_modules");
    for (name, pattern) in [
        (".env", ".env*"),
        (".ENV.local", ".env*"),
        (".envrc", ".env*"),
        ("Secrets", "*secret*"),
        ("my_Secret.txt", "*secret*"),
        ("ſecret", "*secret*"),
        ("se\u{200b}cret", "*secret*"),
        ("aws-credentials", "*credential*"),
        (".Git", ".git"),
        ("server.KEY", "*.key"),
        (".pem", "*.pem"),
        ("Node_Modules", "node_modules"),
        ("ID_RSA", "id_rsa*"),
        ("id_\u{200d}rsa", "id_rsa*"),
        ("wallet.dat. .", "wallet.dat"),
        (".KUBE", ".kube"),
        (".Docker/Config.JSON", ".docker/config.json"),
        ("a/b/.doc\u{200b}ker/config.json.BAK", ".docker/config.json"),
        (".npmRC/", ".npmrc"),
    ] {
        assert_eq!(list.check_file_path(name), Err(pattern.to_owned()), "{name}");
    }
}

#[test]
fn contract_patterns_hold_literally_without_source_exception() {
    let list = DenyList::default().with_allowed("**").with_allowed("*").with_allowed("tests/**");
    for path in [
        ".env.example",
        "VerifiableCredential.java",
        "src/secretary.rs",
        "tests/a.pem",
        "tests/a.key",
        ".git/config",
        "crates/secrets/lib.rs",
        "secrets/x.rs",
    ] {
        assert!(list.check_file_path(path).is_err(), "{path}");
    }
    for path in ["env", "a.envs", ".gitignore", ".github", "key", "pem.txt", "keys.key.md", "x"] {
        assert_eq!(DenyList::default().check_file_path(path), Ok(()), "{path}");
    }
}

#[test]
fn operator_can_extend_and_relax_the_default_list() {
    let list = DenyList::default()
        .with_source_exception()
        .with_pattern("internal/*.csv")
        .with_pattern("*.pem.rs")
        .with_allowed("tests/fixtures/**")
        .with_allowed("ci/*.env")
        .with_allowed("docs/secrets.md")
        .with_allowed(".git")
        .with_allowed("internal/**");
    for (path, is_denied) in [
        ("tests/fixtures/deep/tls.key", false),
        ("tests/fixtures/.env", false),
        ("tests/tls.key", true),
        ("ci/test.env", false),
        ("other/ci/test.env", false),
        ("prod/test.env", true),
        ("docs/secrets.md", false),
        ("docs/secrets.txt", true),
        // Neither Git internals nor the operator's own patterns are relaxed.
        (".git/config", true),
        ("tests/fixtures/.git/config", true),
        ("internal/people.csv", true),
        ("internal/people.CSV.bak", true),
        ("a.pem.rs", true),
    ] {
        assert_eq!(list.check_file_path(path).is_err(), is_denied, "{path}");
    }
}

#[test]
fn folders_named_like_secrets_hold_source_code_only() {
    let list = DenyList::default().with_source_exception();
    for (path, is_denied) in [
        ("src/secrets/mod.rs", false),
        ("src/secrets/deep/mod.rs", false),
        ("src/secrets/prod.json", true),
        ("src/secrets/deep/prod", true),
        ("src/secrets/.env", true),
        ("credentials/service.py", false),
        ("credentials/service.pyc", true),
        (".aws/client.py", true),
        (".ssh/a.rs", true),
    ] {
        assert_eq!(list.check_file_path(path).is_err(), is_denied, "{path}");
        assert_eq!(
            list.check_folder_path(path.rsplit_once('/').unwrap().0).is_err(),
            path.starts_with(".aws") || path.starts_with(".ssh"),
            "{path}"
        );
    }
}

#[test]
fn entries_are_judged_like_paths() {
    let (strict, relaxed) = (DenyList::default(), DenyList::default().with_source_exception());
    for (path, strict_denies, relaxed_denies) in [
        (".docker/config.json", true, true),
        (".docker//config.json", true, true),
        ("a/b/.docker/config.json", true, true),
        ("src/secrets", true, true),
        ("src/secrets/token.rs", true, false),
        ("src/secrets/token.json", true, true),
        ("my_rsa/mod.rs", true, false),
        ("src/main.rs", false, false),
    ] {
        assert_eq!(strict.check_file_path(path).is_err(), strict_denies, "{path}");
        assert_eq!(relaxed.check_file_path(path).is_err(), relaxed_denies, "{path}");
        assert_eq!(relaxed.check_entry(path, true).is_err(), relaxed_denies, "{path}");
    }
    assert_eq!(relaxed.check_entry("src/secrets", false), Ok(()));
    assert!(strict.check_entry("src/secrets", false).is_err());
}

#[test]
fn lists_each_pattern_once() {
    let (strict, relaxed) = (DenyList::default(), DenyList::default().with_source_exception());
    assert_eq!(strict.patterns().count(), relaxed.patterns().count() + CONTRACT_PATTERNS.len());
    // A pattern of the contract is shown once, and is the operator's own where the contract's do not apply.
    let pattern = CONTRACT_PATTERNS[1];
    let shown = |list: &DenyList| list.describe().matches(&format!("`{pattern}`")).count();
    assert_eq!((shown(&strict), shown(&strict.clone().with_pattern(pattern))), (1, 1));
    assert_eq!((shown(&relaxed), shown(&relaxed.clone().with_pattern(pattern))), (0, 1));
    // Repeated and empty patterns change nothing.
    let once = relaxed.with_pattern("*.csv").with_pattern("a");
    let again =
        once.clone().with_pattern("*.CSV").with_pattern("a/").with_pattern("").with_pattern("/");
    assert_eq!(once, again);
}

#[test]
fn documentation_has_the_default_list() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/secrets.md");
    let text = std::fs::read_to_string(path).unwrap();
    let marker = "<!-- list: generated from crates/guard/src/deny/secret_files.rs -->\n";
    let (before, documented) = text.split_once(marker).unwrap();
    let groups = SECRET_FILE_GROUPS.iter().map(|group| {
        let SecretFileGroup { name, reason, patterns, may_be_source } = group;
        let excepted = if *may_be_source { " (source code excepted)" } else { "" };
        let patterns: Vec<_> = patterns.iter().map(|pattern| format!("`{pattern}`")).collect();
        format!("\n**{name}**{excepted}: {reason}.\n\n{}.\n", patterns.join(", "))
    });
    let expected: String = groups.collect();
    if documented != expected && std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
        std::fs::write(path, format!("{before}{marker}{expected}")).unwrap();
        return;
    }
    assert_eq!(documented, expected, "run `INSTA_UPDATE=always cargo test -p guard documentation`");
}
