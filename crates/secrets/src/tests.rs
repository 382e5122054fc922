//! Each rule with texts that it must match and texts that it must not match. Fake secrets are assembled at run time, so
//! that no scanner reports this file as a leak.

mod differential;

use super::*;

/// Returns `length` letters and digits without an obvious pattern.
fn noise(length: usize) -> String {
    "q7Zt4Kp9Xw2Lm5Vb8Nc3Rd6Hf1Jg0Ys".chars().cycle().take(length).collect()
}

fn hex(length: usize) -> String {
    "9f3a71c5e08d2b46".chars().cycle().take(length).collect()
}

fn upper(length: usize) -> String {
    "Q7ZT4KP9XW2LM5VB".chars().cycle().take(length).collect()
}

/// Returns for each rule: its id, texts that contain such a secret, and similar texts without one.
fn cases() -> Vec<(&'static str, Vec<String>, Vec<String>)> {
    let n = noise;
    vec![
        (
            "aws-access-key",
            vec![
                format!("key {}{}", "AK", "IA".to_owned() + &upper(16)),
                format!("{}{}.", "AS", "IA".to_owned() + &upper(16)),
            ],
            vec![format!("AK{}{}", "IA", upper(10)), "AKIA is how they begin".into()],
        ),
        (
            "aws-secret-key",
            vec![
                format!("aws_secret_access_key = {}", n(40)),
                format!("{{\"SecretAccessKey\": \"{}\"}}", n(40)),
                format!("AWS_SECRET_KEY='{}'", n(40)),
            ],
            vec![
                format!("aws_secret_access_key = {}", "a".repeat(40)),
                format!("the commit is {}", hex(40)),
            ],
        ),
        (
            "github-token",
            ["p", "o", "u", "s", "r"].iter().map(|kind| format!("gh{kind}_{}", n(36))).collect(),
            vec![
                format!("gh{}_{}", "p", n(20)),
                "ghp_ is the prefix".into(),
                format!("xghp_{}", n(36)),
            ],
        ),
        (
            "vouch-token",
            vec![format!("vouch{}{}", "_", hex(64)), format!("Bearer vouch{}{}", "_", hex(64))],
            vec![format!("vouch{}{}", "_", hex(40)), "vouch_token".into()],
        ),
        (
            "github-fine-grained-token",
            vec![format!("github{}{}_{}", "_pat_", n(22), n(59))],
            vec!["github_pat_ tokens end".into()],
        ),
        (
            "gitlab-token",
            vec![format!("gl{}-{}", "pat", n(20)), format!("gl{}-{}", "rt", n(24))],
            vec!["glpat-short".into(), "gl-pathological-configuration".into()],
        ),
        (
            "slack-token",
            vec![
                format!("xo{}-{}", "xb", "417829305561-".to_owned() + &n(24)),
                format!("xa{}-1-{}", "pp", n(20)),
            ],
            vec!["xoxo-hugs".into(), "xoxb- is for bots".into()],
        ),
        (
            "slack-webhook",
            vec![format!(
                "https://hooks.{}/T{}/B{}/{}",
                "slack.com/services",
                upper(8),
                upper(8),
                n(24)
            )],
            vec!["https://hooks.slack.com/services/ is documented".into()],
        ),
        (
            "stripe-key",
            vec![format!("sk_{}_{}", "live", n(24)), format!("rk_{}_{}", "live", n(24))],
            vec![format!("pk_{}_{}", "live", n(24)), "sk_live_short".into()],
        ),
        ("google-api-key", vec![format!("AI{}{}", "za", n(35))], vec!["AIzawa".into()]),
        (
            "gcp-service-account",
            vec![
                format!("{{\"private_key_id\": \"{}\"}}", hex(40)),
                format!("{{\"private_key\": \"-----{} PRIVATE KEY-----\\nMII\"}}", "BEGIN"),
            ],
            vec!["{\"private_key_id\": \"rotated\"}".into()],
        ),
        (
            "anthropic-key",
            vec![format!("sk-{}-api03-{}", "ant", n(80))],
            vec!["sk-ant-hill".into()],
        ),
        (
            "openai-key",
            vec![format!("sk-{}", n(48)), format!("sk-{}-{}", "proj", n(60))],
            vec![
                "sk-learn and sk-image".into(),
                "risk-management-and-mitigation-strategies".into(),
            ],
        ),
        ("npm-token", vec![format!("npm{}{}", "_", n(36))], vec!["npm_config_registry".into()]),
        (
            "pypi-token",
            vec![format!("pypi-{}IcHlwaS5vcmc{}", "AgE", n(60))],
            vec!["pypi-publish".into(), "pypi-AgEnda".into()],
        ),
        ("huggingface-token", vec![format!("hf{}{}", "_", n(34))], vec!["hf_hub_download".into()]),
        (
            "digitalocean-token",
            vec![format!("dop{}{}", "_v1_", hex(64))],
            vec!["dop_v1_ and sixty-four digits".into()],
        ),
        (
            "sendgrid-key",
            vec![format!("S{}.{}.{}", "G", n(22), n(43))],
            vec!["SG.com".into(), "MSG.a.b".into()],
        ),
        ("vault-token", vec![format!("hv{}.{}", "s", n(30))], vec!["hvs.example".into()]),
        (
            "age-key",
            vec![format!("AGE-{}-1{}", "SECRET-KEY", upper(58))],
            vec!["AGE-SECRET-KEY-1 begins it".into()],
        ),
        (
            "service-token",
            vec![
                format!("shp{}_{}", "at", hex(32)),
                format!("dckr_{}_{}", "pat", n(27)),
                format!("dapi{}", hex(32)),
                format!("xkey{}-{}-{}", "sib", hex(64), n(16)),
            ],
            vec!["tskey-auth-short".into(), "dapi is a prefix".into(), "r8_register".into()],
        ),
        (
            "jwt",
            vec![format!("ey{}.ey{}.{}", "J".to_owned() + &n(20), "J".to_owned() + &n(30), n(43))],
            vec!["eyJhbGciOiJIUzI1NiJ9 is only a header".into()],
        ),
        (
            "private-key",
            ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "]
                .iter()
                .map(|kind| format!("-----{} {kind}PRIVATE KEY-----\nMIIE", "BEGIN"))
                .chain([
                    format!("-----{} PGP PRIVATE KEY BLOCK-----", "BEGIN"),
                    format!("PuTTY-User-{}-3: ssh-ed25519", "Key-File"),
                ])
                .collect(),
            vec!["-----BEGIN PUBLIC KEY-----".into(), "-----BEGIN CERTIFICATE-----".into()],
        ),
        (
            "azure-key",
            vec![
                format!("AccountName=x;Account{}={}==;", "Key", n(86)),
                format!("SharedAccess{}={}=", "Key", n(43)),
            ],
            vec!["AccountKey=<from the vault>".into()],
        ),
        (
            "url-password",
            vec![
                format!("postgres://app:{}@db/x", "hun".to_owned() + "ter2"),
                format!("mongodb+srv://u:{}@c.example.net", "p%40ss9"),
                format!("redis://:{}@localhost:6379", "s3cr".to_owned() + "3tX"),
                format!("https://bot:{}@git.example.com/x.git", n(12)),
            ],
            vec![
                "postgres://user:password@localhost/db".into(),
                "postgres://user:${DB_PASSWORD}@host/db".into(),
                "postgres://user:<password>@host/db".into(),
                "http://localhost:8080/a@b".into(),
                "see https://example.com:443/x and mail me@example.com".into(),
            ],
        ),
        (
            "authorization-header",
            vec![
                format!("Authorization: Bearer {}", n(32)),
                format!("{{\"authorization\": \"bearer {}\"}}", n(32)),
                format!("Authorization: Basic {}=", n(24)),
            ],
            vec![
                "Authorization: Bearer <token>".into(),
                "a bearer certificateauthorization is a thing".into(),
                "Authorization: Bearer $TOKEN".into(),
            ],
        ),
        (
            "quoted-password",
            vec![
                format!("password = \"{}\"", "hun".to_owned() + "ter2!Ax"),
                format!("{{\"api_key\": \"{}\"}}", n(20)),
                format!("client_secret: '{}'", n(24)),
                format!("DB_PASSWD := `{}`", n(14)),
                format!("private_key = \"0x{}\"", hex(64)),
            ],
            vec![
                "password = \"changeme\"".into(),
                "password: \"see the vault, entry 7\"".into(),
                "{\"token\": \"placeholder\"}".into(),
                "api_key = \"${API_KEY}\"".into(),
                "\"secret\": \"aaaaaaaaaaaa\"".into(),
                "{\"token_count\": \"1234567890ab\"}".into(),
            ],
        ),
        (
            "bare-password",
            vec![
                format!("API_KEY={}", n(20)),
                format!("password: {}", n(16)),
                format!("export TOKEN={}\n", n(32)),
            ],
            vec![
                "password: use-the-password-manager".into(),
                "password = os.environ[\"DB_PASSWORD\"]".into(),
                "token: 2026-01-15T10:00:00Z".into(),
                "the secret: write tests first".into(),
                "token = parse_token_v2(input)".into(),
            ],
        ),
    ]
}

fn find_rule_id(text: &str) -> Option<&'static str> {
    find_secret(text).map(|rule| rule.id)
}

#[test]
fn every_rule_matches_its_secrets_and_no_similar_texts() {
    let cases = cases();
    let tested: Vec<_> = cases.iter().map(|(id, ..)| *id).collect();
    let rules: Vec<_> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(tested, rules, "one case per rule, in table order");
    for (id, secrets, innocents) in cases {
        for secret in secrets {
            assert_eq!(find_rule_id(&secret), Some(id), "{secret}");
        }
        for innocent in innocents {
            assert_eq!(find_rule_id(&innocent), None, "{id}: {innocent}");
        }
    }
}

#[test]
fn finds_secrets_behind_escapes() {
    let token = fake_github_token();
    let escaped: String = token.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    assert_eq!(find_rule_id(&format!("{{\"note\": \"{escaped}\"}}")), Some("github-token"));
    // JSON text in a JSON string.
    let nested = serde_json::Value::from(format!("{{\"note\": \"{escaped}\"}}")).to_string();
    assert_eq!(find_rule_id(&nested), Some("github-token"));
    let assignment = serde_json::json!({"note": format!("{{\"api_key\": \"{}\"}}", noise(20))});
    assert_eq!(find_rule_id(&assignment.to_string()), Some("quoted-password"));
}

fn fake_github_token() -> String {
    format!("gh{}_{}", "p", noise(36))
}

#[test]
fn ordinary_notes_match_no_rule() {
    for note in [
        r#"{"timestamp": "2026-01-15T10:00:00Z", "event": "milestone", "description": "Completed EDA"}"#,
        r#"{"decision": "Use argon2 for passwords", "because": ["memory-hard", "maintained"], "id": 17}"#,
        "- Keep secrets out of memory files; tokens live in the vault.\n- password: never here",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b fixes #12",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "uuid 550e8400-e29b-41d4-a716-446655440000, address 0xdAC17F958D2ee523a2206206994597C13D831ec7",
    ] {
        assert_eq!(find_rule_id(note), None, "{note}");
    }
}

/// Returns texts made of parts that are likely to confuse a scanner, the same in every run.
fn random_texts(count: usize) -> impl Iterator<Item = String> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % limit as u64).unwrap()
    };
    let begin = format!("-----{} RSA PRIVATE KEY-----", "BEGIN");
    let end = format!("-----{} RSA PRIVATE KEY-----", "END");
    let parts: Vec<String> = RULES
        .iter()
        .flat_map(|rule| rule.starts.iter().map(|start| (*start).to_owned()))
        .chain([begin, end, noise(36), noise(64), hex(40), upper(16)])
        .chain(
            [
                "\\",
                "\"",
                "\\u0067",
                "\\x41",
                "\\u00e9",
                "é",
                "\u{1f511}",
                " = ",
                ": ",
                "'",
                "\n",
                "@",
                "://",
                "a",
            ]
            .map(str::to_owned),
        )
        .collect();
    (0..count).map(move |_| {
        let length = 1 + next(14);
        (0..length).map(|_| parts[next(parts.len())].as_str()).collect()
    })
}

#[test]
fn any_text_is_redacted_completely_and_without_panic() {
    for text in random_texts(20_000) {
        let spans = find_spans(&text, ScanPurpose::Output);
        assert!(spans.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start), "{text}");
        let mut redactor = SecretRedactor::default();
        assert_eq!(redactor.collect(&text), !spans.is_empty());
        if let Some(redacted) = redactor.redact(&text) {
            for span in &spans {
                assert!(
                    span.is_key_block() || span.value.len() < 8 || !redacted.contains(&span.value),
                    "{text}\n{redacted}"
                );
            }
        }
    }
}

#[test]
fn output_rules_leave_ordinary_code_alone() {
    for code in [
        "let token = self.tokens.next_token2();",
        "token: D3DKMT_PRESENTHISTORYTOKEN_0,",
        "\"token\": \"access_token\"",
        "password: \"forgot_password_page\"",
        "api_key = os.environ[\"API_KEY\"]",
        "const TOKEN = \"0xdAC17F958D2ee523a2206206994597C13D831ec7\";",
        "secret = \"550e8400-e29b-41d4-a716-446655440000\"",
        "nextPageToken: \"CAUQAA7f3k2j1h5g4\"",
        "if text.contains(\"-----BEGIN PRIVATE KEY-----\") { return; }",
        "postgres://user:password@localhost/db and http://foo:bar@host",
        "\"password\": \"Passwort vergessen\"",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "integrity sha512-q7Zt4Kp9Xw2Lm5Vb8Nc3Rd6Hf1Jg0Ysq7Zt4Kp9Xw2Lm5Vb8Nc3Rd6Hf1Jg0Ys==",
        "Authorization: Bearer ${token}",
        "pub struct TokenKind2; // token: TokenKind2",
    ] {
        let found = find_spans(code, ScanPurpose::Output);
        assert!(found.is_empty(), "{code}: {found:?}");
    }
}

#[test]
fn output_rules_find_what_the_table_promises() {
    for (id, secrets, _) in cases() {
        for secret in secrets {
            // The markers of a key without its body are code, and weak passwords in URLs are examples.
            if matches!(id, "private-key" | "gcp-service-account" | "url-password") {
                continue;
            }
            let found = find_spans(&secret, ScanPurpose::Output);
            assert!(!found.is_empty(), "{id}: {secret}");
        }
    }
}

#[test]
fn key_blocks_are_redacted_with_their_body() {
    let body = format!("{}\n{}\n{}", noise(64), noise(64), noise(30));
    let key = format!(
        "-----{0} EC PRIVATE KEY-----\n{body}\n-----{1} EC PRIVATE KEY-----",
        "BEGIN", "END"
    );
    let cut = format!("-----{} PRIVATE KEY-----\n{body}\n", "BEGIN");
    let putty = format!(
        "PuTTY-User-{}-3: ssh-rsa\nEncryption: none\nPrivate-Lines: 3\n{body}\n",
        "Key-File"
    );
    for text in [
        format!("a\n{key}\nb"),
        format!("a\n{cut}b c\n"),
        putty,
        serde_json::json!({"private_key": key}).to_string(),
        key.replace('\n', "\n    "),
    ] {
        let mut redactor = SecretRedactor::default();
        assert!(redactor.collect(&text), "{text}");
        let redacted = redactor.redact(&text).unwrap();
        assert!(!redacted.contains(&noise(20)) && redacted.contains("[redacted: "), "{redacted}");
    }
}
