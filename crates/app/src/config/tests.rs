use std::collections::BTreeSet;

use link::{AllowedHost, NetworkAccess, ResourceLimits};
use secrecy::ExposeSecret;

use super::layer::ToolLayer;
use super::sandbox::SandboxGrants;
use super::*;

/// Returns the template with the `#` before its keys removed; in prose a space follows the `#`.
fn uncomment_template() -> String {
    let line = |line: &'static str| match line.strip_prefix('#') {
        Some(rest) if !rest.starts_with(' ') && !rest.is_empty() => rest,
        _ => line,
    };
    TEMPLATE.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Replaces the names that the operator chooses in a path by `*`.
fn generalize_path(path: &str) -> String {
    for before in ["upstream.env.", "upstream.headers."] {
        if path.starts_with(before) {
            return format!("{before}*");
        }
    }
    let named = ["tools.hello", "tools.write_memory_entry", "clients.token:ci"];
    let found = named.iter().find_map(|name| path.strip_prefix(name).map(|rest| (name, rest)));
    match found {
        Some((name, rest)) => format!("{}.*{rest}", name.split('.').next().unwrap_or_default()),
        None => path.to_owned(),
    }
}

fn collect_keys(table: &toml::Table, path: &str, found: &mut BTreeSet<String>) {
    for (key, value) in table {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match value {
            toml::Value::Table(inner) => collect_keys(inner, &path, found),
            toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
                for item in items.iter().filter_map(toml::Value::as_table) {
                    collect_keys(item, &path, found);
                }
            }
            _ => {
                found.insert(generalize_path(&path));
            }
        }
    }
}

#[test]
fn template_parses_and_has_every_key() {
    let source = ConfigSource { path: "template.toml".into(), text: uncomment_template() };
    let layer = ConfigLayer::from_file(&source).unwrap();
    assert!(layer.server.token.is_some() && layer.telemetry.otlp_endpoint.is_some());

    let table: toml::Table = toml::from_str(&uncomment_template()).unwrap();
    let mut shown = BTreeSet::new();
    collect_keys(&table, "", &mut shown);
    let tables: BTreeSet<_> = keys::TABLES.iter().map(|(table, _)| *table).collect();
    let known: BTreeSet<_> = keys::TABLES
        .iter()
        .flat_map(|(table, keys)| keys.iter().map(move |key| (table, key)))
        .map(
            |(table, key)| {
                if table.is_empty() { (*key).to_owned() } else { format!("{table}.{key}") }
            },
        )
        .filter(|key| !tables.contains(key.as_str()))
        .collect();
    assert_eq!(shown, known);
}

#[test]
fn commented_template_changes_nothing() {
    let layer =
        ConfigLayer::from_file(&ConfigSource { path: "t".into(), text: TEMPLATE.to_owned() })
            .unwrap();
    assert!(layer.tools.values().all(|tool| *tool == ToolLayer::default()));
    assert!(layer.packs.is_none() && layer.server.port.is_none());
}

#[test]
fn template_shows_the_defaults() {
    fn assert_shown(defaults: &toml::Table, shown: &toml::Value, path: &str) {
        for (key, value) in defaults {
            let path = format!("{path}.{key}");
            match value.as_table() {
                Some(table) => assert_shown(table, &shown[key], &path),
                None => assert_eq!(&shown[key], value, "{path}"),
            }
        }
    }
    let shown: toml::Value = toml::from_str(&uncomment_template()).unwrap();
    assert_shown(&toml::from_str(DEFAULTS).unwrap(), &shown, "");
}

fn parse_error(text: &str) -> String {
    let source = ConfigSource { path: "vouch.toml".into(), text: text.to_owned() };
    match ConfigLayer::from_file(&source) {
        Ok(_) => format!("{text:?} is fine"),
        Err(error) => format!("{error}\n  → {}", error.hint()),
    }
}

#[test]
fn parse_errors_name_location_and_hint() {
    let errors = [
        "[server]\nhost = \"127.0.0.1\"\nprot = 1",
        "[sever]\nport = 1",
        "zebra = 1",
        "[policy.tools]\nhello = 1",
        "[tools.hello]\n\nrate = 5",
        "tools = { hello = { aprove = \"ask\" } }",
        "[server]\nport = 70000",
        "[server]\nport = \"x\"",
        "[server]\nhost = \"example.com\"",
        "[policy]\napprove = \"maybe\"",
        "[tools.hello]\nrate_per_minute = 0",
        "[tools.hello]\nenabled = 1",
        "[server]\nallowed_hosts = \"a\"",
        "[server]\nallowed_origins = [\"https://a.example\", \"app\"]",
        "[server]\nallowed_hosts = [\"https://a.example\"]",
        "[state]\nfolder = \"..\"",
        "[telemetry]\notlp_endpoint = \"collector:4317\"",
        "packs = [\"repo\", \"contxt\"]",
        "[context]\nthread = 2",
        "[context]\nthreads = 0",
        "[context]\nthreads = 200000",
        "[context]\nexclude = [\"../up\"]",
        "[context]\nexclude = [\"**/*.ts\"]",
        "[context.embedding]\nprovider = \"off\"",
        "[context.embeddings]\nprovider = \"openai\"",
        "[context.embeddings]\nbase_url = \"localhost:11434\"",
        "[context.embeddings]\ndimensions = -3",
        "[context.embeddings]\napi_key_env = \"sk-123\"",
        "[context.embeddings]\ntimeout_ms = \"1s\"",
        "[campaign]\ntarget = 3",
        "[campaign]\ntargets = [\"a.sol\"]",
        "fuzz = 3",
        "[fuzz]\ntest_limt = 5",
        "[fuzz]\ntestLimit = 5",
        "[gateway]\nseperator = \"_\"",
        "[[upstream]]\nname = \"a\"\n[[upstream]]\nname = \"b\"\ncomand = \"x\"",
        "[[upstream]]\nname = \"A_b\"",
        "[[upstream]]\nname = \"a\"\nenv = { K = \"hunter2$x\" }",
        "[[upstream]]\nname = \"a\"\n\nenv = { K = 3 }",
        "[[upstream]]\nname = \"a\"\nsandbox = { raed = [\".\"] }",
        "[[upstream]]\nname = \"a\"\nsandbox = true",
        "[[upstream]]\nname = \"a\"\npolicy = \"lax\"",
        "[[upstream]]\nname = \"a\"\nallow_changes = [\"all\"]",
        "[[upstream]]\nname = \"a\"\ntransport = \"ws\"",
        "[[upstream]]\nname = \"a\"\nconnect_timeout_ms = 0",
        "[[upstream]]\nname = \"a\"\nurl = \"example.com\"",
        "[upstream]\nname = \"a\"",
        "[[rule]]\nname = \"a\"\neffect = \"forbid\"",
        "[[rule]]\nname = \"a\"\nif = \"true\"",
        "[clients.cli]\ntool = []",
        "[ask]\nprovider = \"gemini\"",
        "[ask]\napi_key_env = \"sk-123\"",
        "server = 3",
        "[server\nport = 1",
        "[server]\nport = 1\nport = 2",
    ]
    .map(parse_error);
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn later_layers_win() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[server]\nport = 1\nhost = \"::1\"\n[tools.hello]\nrate_per_minute = 5\n";
    std::fs::write(folder.path().join(FILE_NAME), text).unwrap();
    let below = folder.path().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    let flags = ConfigLayer::from_server_flags(None, Some(3), None);
    let environment = Environment::from_values(&[(EnvVar::StateHome, Path::new("/state"))]);
    let settings = load_from(&below, &trusted_place(), &environment, flags).unwrap();
    assert_eq!(settings.server.address.to_string(), "[::1]:3");
    assert_eq!(settings.tool_layer("hello").rate_per_minute.unwrap().get(), 5);
    let root = folder.path().canonicalize().unwrap();
    assert_eq!(settings.root, root);
    let state = store::ProjectIdentity::read(&root).unwrap().directory_name();
    assert_eq!(settings.state_folder, Path::new("/state/vouch").join(state));
}

/// The location of a project whose files all apply.
fn trusted_place() -> ProjectLocation {
    ProjectLocation { trust: true, ..ProjectLocation::default() }
}

fn settings(text: &str) -> Result<Settings, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FILE_NAME), text).unwrap();
    let environment = Environment::from_values(&[(EnvVar::StateHome, Path::new("/state"))]);
    load_from(folder.path(), &trusted_place(), &environment, ConfigLayer::default())
}

#[test]
fn memory_budget_is_a_size_or_automatic() {
    let budget = |text: &str| settings(text).map(|settings| settings.http.limits.max_memory_bytes);
    assert_eq!(budget("[limits]\nmemory = \"128MB\"\n").unwrap(), 128 << 20);
    let automatic = budget("").unwrap();
    assert!(automatic <= 512 << 20, "{automatic}");
    assert_eq!(budget("[limits]\nmemory = \"auto\"\n").unwrap(), automatic);
    let error = contract::text::error_chain(&budget("[limits]\nmemory = \"some\"\n").unwrap_err());
    assert!(error.contains("or \"auto\""), "{error}");
}

#[test]
fn embedding_endpoint_requires_url_and_model() {
    for (text, missing) in [
        ("\n[context.embeddings]\nprovider = \"endpoint\"\n", "base_url"),
        (
            "\n[context.embeddings]\nprovider = \"endpoint\"\nbase_url = \"http://127.0.0.1:1/v1\"\n",
            "model",
        ),
    ] {
        let error = settings(text).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("vouch.toml:2: ")
                && message.ends_with(&format!("requires `{missing}`")),
            "{message}"
        );
        assert!(error.hint().contains(missing), "{}", error.hint());
    }
}

#[test]
fn fuzz_table_errors_name_location_and_key() {
    for (text, message) in [
        (
            "[fuzz]\nworkers = 2\ntest_limit = -1",
            "vouch.toml:3: invalid value for `fuzz.test_limit`",
        ),
        ("[fuzz]\ntest_mode = \"prop\"", "vouch.toml:2: invalid value for `fuzz.test_mode`"),
        ("[fuzz]\nsender = []", "vouch.toml:2: invalid value for `fuzz.sender`"),
        ("[fuzz]\nseed = 1979-05-27", "vouch.toml:2: invalid value for `fuzz.seed`"),
    ] {
        let error = settings(text).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let fuzz =
        settings("[fuzz]\nseq_len = 7").unwrap().fuzz.unwrap().apply_over(Default::default());
    assert_eq!(fuzz.sequence_length.get(), 7);
    assert!(settings("").unwrap().fuzz.is_none());
}

#[test]
fn campaign_targets_are_paired_with_contracts() {
    let aims = |text: &str| {
        let settings = settings(text).unwrap();
        let name = |aim: &CampaignTarget| {
            let path = aim.path.as_ref().unwrap().strip_prefix(&settings.root).unwrap();
            (path.display().to_string(), aim.contract.clone())
        };
        settings.campaign.targets.iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(aims(""), []);
    assert_eq!(aims("[campaign]\ntarget = \"a.sol\""), [("a.sol".to_owned(), None)]);
    assert_eq!(
        aims("[campaign]\ntarget = [\"a.sol\", \"b\"]\ncontract = [\"A\", \"B\"]"),
        [("a.sol".to_owned(), Some("A".to_owned())), ("b".to_owned(), Some("B".to_owned()))]
    );
    let error = settings("[campaign]\ntarget = [\"a\", \"b\"]\ncontract = \"A\"").unwrap_err();
    let message =
        "vouch.toml:3: invalid value for `campaign.contract`: expected one contract for each";
    assert!(error.to_string().contains(message), "{error}");
}

#[test]
fn validation_errors_name_location_and_cause() {
    let texts = [
        "[[upstream]]\ncommand = \"x\"",
        "\n[[upstream]]\nname = \"a\"",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nurl = \"http://h/mcp\"",
        "[[upstream]]\nname = \"a\"\ncommand = \"\"",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\ntransport = \"sse\"",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nheaders = {}",
        "[[upstream]]\nname = \"a\"\nurl = \"http://h\"\nargs = []",
        "[[upstream]]\nname = \"a\"\nurl = \"http://h\"\nsandbox = \"off\"",
        "[[upstream]]\nname = \"a\"\nurl = \"http://h\"\n[upstream.headers]\nA = \"x\"\n\"b c\" = \"x\"",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nenv = { \"A-B\" = \"x\" }",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nsandbox = \"on\"",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nsandbox = { write = [\".\"] }",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nsandbox = { write = [\"out\", \"out/../contracts/a\"] }",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\n[upstream.sandbox]\nnetwork = true\nwrite = [\"pins\"]\n[gateway]\nlock = \"pins/lock\"",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nsandbox = { read = [\".\", \".vouch/samples\"] }",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nsandbox = { read = [\"/\"], write = [\"/\"] }",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nsandbox = { level = \"none\" }",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nsandbox = { network = [] }",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nsandbox = { network = [\"api.github.com\"] }",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nsandbox = { network = [\"https://a:443\"] }",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nsandbox = { level = \"landlock\", network = [\"a:1\"] }",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nsandbox = { level = \"landlock\", memory = \"2GB\" }",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nsandbox = { memory = \"2\" }",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nsandbox = { memory = \"1MB\" }",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\ntools = [\"a[\"]",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\n\n[[upstream]]\nname = \"a\"\ncommand = \"y\"",
        "upstream = [{ name = \"a\", command = \"x\" },\n{ name = \"a\", command = \"y\" }]",
        "[gateway]\nseparator = \"-\"",
        "[gateway]\nseparator = \"a\"",
        "[gateway]\nlock = \"..\"",
        "[[rule]]\neffect = \"deny\"\nwhen = \"true\"",
        "[[rule]]\nname = \"a\"\nwhen = \"true\"",
        "[[rule]]\nname = \"a\"\neffect = \"deny\"",
        "[[rule]]\nname = \"a\\nb\"\neffect = \"deny\"\nwhen = \"true\"",
        "[[rule]]\nname = \"a\"\neffect = \"deny\"\nwhen = \"true\"\n[[rule]]\nname = \"b\"\neffect = \"deny\"\nwhen = \"arguments.path ==\"",
        "[[rule]]\nname = \"a\"\neffect = \"deny\"\nwhen = \"argumens.path == 1\"",
        "[[rule]]\nname = \"a\"\neffect = \"deny\"\nwhen = \"result.x == 1\"",
        "[[rule]]\nname = \"a\"\neffect = \"deny\"\ntools = [\"[\"]\nwhen = \"true\"",
        "[[rule]]\nname = \"a\"\neffect = \"deny\"\nwhen = \"true\"\n[[rule]]\nname = \"a\"\neffect = \"deny\"\nwhen = \"true\"",
        "[clients.ci]\ntools = []",
        "[clients.\"token:ci\"]",
        "[clients.cli]\ntools = [\"{\"]",
        "[clients.cli]\nresources = [\"[\"]",
        "[clients.cli]\napprove = \"always\"",
        "[ask]\nforbid = [\"a\", \"(\"]",
        "[ask]\nforbid = ['\\w{90}']",
    ];
    let messages = texts.map(|text| {
        let error = match settings(text) {
            Ok(_) => return format!("{text:?} is fine"),
            Err(error) => error,
        };
        let cause = std::error::Error::source(&error).map(|cause| format!("\n  why: {cause}"));
        let message = format!("{error}{}", cause.unwrap_or_default());
        message[message.find("vouch.toml:").unwrap_or_default()..].to_owned()
    });
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn sandbox_levels_are_loaded() {
    let load = |sandbox: &str| {
        let text = format!("[[upstream]]\nname = \"a\"\ncommand = \"x\"\nsandbox = {sandbox}");
        match settings(&text).unwrap().upstreams.remove(0).connection {
            UpstreamConnection::Stdio { sandbox, .. } => sandbox,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(load("\"full\"").level_name(), "full");
    assert_eq!(load("{ read = [] }").level_name(), "full");
    assert_eq!(load("\"landlock\"").level_name(), "landlock");
    let weak = load("{ level = \"landlock\", network = true, write = [\"out\"] }");
    assert!(
        matches!(&weak, SandboxConfig::Landlock(grants) if grants.network == NetworkAccess::All)
    );
    let full = load(
        "{ network = [\"Api.GitHub.com:443\"], memory = \"2GB\", processes = 9, open_files = 64, cpu_seconds = 5 }",
    );
    let grants = full.grants().unwrap();
    let host = AllowedHost { host: "api.github.com".to_owned(), port: 443 };
    assert_eq!(grants.network, NetworkAccess::Hosts(vec![host]));
    let limits = ResourceLimits {
        memory: Some(2 << 30),
        processes: Some(9),
        open_files: Some(64),
        cpu_seconds: Some(5),
    };
    assert_eq!(grants.limits, limits);
}

#[test]
fn upstreams_are_loaded() {
    let settings = settings(
        "[[upstream]]\nname = \"files\"\ncommand = \"npx\"\nargs = [\"-y\"]\nenv = { K = \"x${NO_SUCH_VARIABLE_7}\" }\nsandbox = { write = [\"out\"], network = true }\ntools = [\"read_*\"]\nallow_changes = [\"additive\"]\nconnect_timeout_ms = 5
        [[upstream]]\nname = \"old\"\nurl = \"https://h/sse\"\ntransport = \"sse\"\nenabled = false\nheaders = { A = \"b\" }
        [[upstream]]\nname = \"wild\"\ncommand = \"./w\"\nsandbox = \"off\"\npolicy = \"observe\"\ncwd = \"sub\"
        [[upstream]]\nname = \"tame\"\ncommand = \"./t\"
        [clients.\"token:ci\"]\ntools = [\"files__read_*\"]
        [[rule]]\nname = \"r\"\neffect = \"deny\"\nwhen = \"true\"",
    )
    .unwrap();
    let root = &settings.root;
    let [files, old, wild, tame] = &settings.upstreams[..] else { panic!("four") };
    let grants = |upstream: &UpstreamConfig| match &upstream.connection {
        UpstreamConnection::Stdio { sandbox: SandboxConfig::Full(grants), .. } => grants.clone(),
        other => panic!("{other:?}"),
    };
    let default = SandboxGrants {
        read: vec![root.clone()],
        write: vec![],
        network: NetworkAccess::None,
        limits: ResourceLimits::default(),
    };
    assert_eq!(grants(tame), default);
    let network = NetworkAccess::All;
    assert_eq!(grants(files), SandboxGrants { write: vec![root.join("out")], network, ..default });
    assert!(files.tools.as_ref().unwrap().is_match("read_file"));
    assert!(!files.tools.as_ref().unwrap().is_match("write_file"));
    assert_eq!(files.allow_changes.iter().collect::<Vec<_>>(), [&DefinitionChange::Additive]);
    assert_eq!(files.connect_timeout.as_millis(), 5);
    let error = files.resolve_secrets(&Environment::default(), root).unwrap_err();
    assert_eq!(error.to_string(), "failed to resolve env.K of upstream `files`");
    assert!(!old.enabled && matches!(&old.connection, UpstreamConnection::Sse { .. }));
    let values = old.resolve_secrets(&Environment::default(), root).unwrap();
    assert_eq!(values.headers["A"].expose_secret(), "b");
    assert!(values.env.is_empty());
    let UpstreamConnection::Stdio { sandbox: SandboxConfig::Off, cwd, .. } = &wild.connection
    else {
        panic!()
    };
    assert_eq!((cwd, wild.policy), (&root.join("sub"), UpstreamPolicy::Observe));
    assert_eq!(settings.rules.names().collect::<Vec<_>>(), ["r"]);
    let client = &settings.clients["token:ci"];
    let (tools, resources) = (client.tools.as_ref().unwrap(), client.resources.as_ref().unwrap());
    assert!(tools.is_match("files__read_file") && !tools.is_match("files__write_file"));
    assert!(!resources.is_match("context://project/overview"), "limited tools, no resources");
    assert_eq!(settings.gateway.separator, "__");
    assert_eq!(settings.gateway.contracts, root.join("contracts"));
}

#[test]
fn client_tables_are_loaded() {
    let client = |text: &str| settings(text).unwrap().clients["token:ci"].clone();
    let table = "[clients.\"token:ci\"]\n";
    let trusted = client(&format!("{table}approve = \"ask\""));
    assert!(trusted.tools.is_none() && trusted.resources.is_none());
    assert_eq!(trusted.approve, Some(clients::ClientApproval::Ask));
    let reader = client(&format!("{table}tools = []\nresources = [\"context://project/*\"]"));
    let resources = reader.resources.unwrap();
    assert!(resources.is_match("context://project/overview"));
    for other in [
        "context://session/current",
        "context://sessions/recent",
        "CONTEXT://project/overview",
        "context://projects",
        "x-context://project/overview",
    ] {
        assert!(!resources.is_match(other), "{other}");
    }
    let anything = client(&format!("{table}resources = []"));
    assert!(anything.tools.is_none(), "only resources are limited");
}

#[test]
fn project_token_is_the_default_source() {
    let token = |text: &str| settings(text).unwrap().server.token;
    assert!(matches!(token(""), Some(TokenSource::Project)));
    let file = "[server]\ntoken_file = \"../tokens\"";
    assert!(matches!(token(file), Some(TokenSource::File(_))));
}

#[test]
fn ask_planner_is_loaded() {
    let planner = |text: &str| settings(text).unwrap().ask.planner();
    assert!(matches!(planner(""), Ok(PlannerConfig::Embedded)));
    let text =
        "[ask]\nprovider = \"anthropic\"\nmodel = \"m\"\napi_key_env = \"NO_SUCH_VARIABLE_7\"";
    let Ok(PlannerConfig::Model { provider, base_url, model, api_key, .. }) = planner(text) else {
        panic!("a model")
    };
    assert_eq!((provider, model.as_str()), (ModelProvider::Anthropic, "m"));
    assert_eq!(base_url, "https://api.anthropic.com");
    assert!(api_key.is_none());
    for (text, missing) in
        [("[ask]\nmodel = \"m\"", "base_url"), ("[ask]\nbase_url = \"http://h/v1\"", "model")]
    {
        let error = planner(text).unwrap_err().to_string();
        assert!(error.ends_with(&format!("vouch.toml:1: [ask] requires `{missing}`")), "{error}");
    }
    let ask = settings("[ask]\nforbid = [\"(?i)password\"]").unwrap().ask;
    assert!(
        ask.policy.check_query("my PassWord").is_err() && ask.policy.check_query("my word").is_ok()
    );
}

#[test]
fn embedding_settings_are_loaded() {
    let embeddings = |text: &str| settings(text).unwrap().context.embeddings;
    assert!(matches!(embeddings(""), EmbeddingSettings::Embedded));
    assert!(matches!(
        embeddings("[context.embeddings]\nprovider = \"off\""),
        EmbeddingSettings::Off
    ));
    let text =
        "[context.embeddings]\nprovider = \"endpoint\"\nbase_url = \"http://127.0.0.1:1/v1/\"
                model = \"m\"\ndimensions = 8\napi_key_env = \"NO_SUCH_VARIABLE_7\"";
    let EmbeddingSettings::Endpoint(endpoint) = embeddings(text) else { panic!("an endpoint") };
    assert_eq!(endpoint.base_url, "http://127.0.0.1:1/v1");
    assert_eq!(endpoint.dimensions, Some(8));
    assert!(endpoint.api_key.is_none());
}
