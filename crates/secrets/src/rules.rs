//! The table of secret rules. If several rules match a text, the first one is reported, so specific rules come before
//! general ones. Formats follow the documentation of the issuers; every rule needs a case in `tests.rs`.

use super::heuristics;
use super::{SecretRule, StartCondition, StartPlace};

/// Names before an assignment whose value is a secret.
const ASSIGNED_NAMES: &[&str] = &[
    "passwd",
    "password",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
    "access_key",
    "access-key",
    "authkey",
    "auth_key",
    "auth-key",
    "privatekey",
    "private_key",
    "private-key",
    "clientkey",
    "client_key",
    "client-key",
];

/// All rules.
pub const RULES: &[SecretRule] = &[
    token_rule(
        "aws-access-key",
        "an AWS access key id",
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    ),
    SecretRule {
        starts: &["aws", "secret"],
        place: StartPlace::BeforeAssignment,
        condition: StartCondition::Anywhere,
        pattern: r#"(?i)(?:aws|secret)[_\-. ]?(?:secret)?[_\-. ]?(?:access)?[_\-. ]?key["'`]?\s*(?:=>|[:=])\s*["'`]?(?P<v>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
        accept: heuristics::accept_random_key,
        accept_in_output: heuristics::accept_random_key,
        ..token_rule("aws-secret-key", "an AWS secret access key", &[], "")
    },
    token_rule(
        "github-token",
        "a GitHub token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        r"gh[pousr]_[A-Za-z0-9]{36,}",
    ),
    token_rule("vouch-token", "a token of vouch", &["vouch_"], r"vouch_[0-9a-f]{64}\b"),
    token_rule(
        "github-fine-grained-token",
        "a GitHub token",
        &["github_pat_"],
        r"github_pat_[A-Za-z0-9_]{36,}",
    ),
    token_rule(
        "gitlab-token",
        "a GitLab token",
        &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "gloas-"],
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-[A-Za-z0-9_\-]{20,}",
    ),
    token_rule(
        "slack-token",
        "a Slack token",
        &["xox", "xapp-"],
        r"(?:xox[abceoprs]|xapp)-[A-Za-z0-9\-]{10,}",
    ),
    SecretRule {
        place: StartPlace::Marker,
        condition: StartCondition::Anywhere,
        ..token_rule(
            "slack-webhook",
            "a Slack webhook address",
            &["hooks.slack.com/"],
            r"hooks\.slack\.com/(?:services|workflows)/[A-Z0-9]+/[A-Z0-9]+/[A-Za-z0-9]{16,}",
        )
    },
    token_rule(
        "stripe-key",
        "a Stripe live key",
        &["sk_live_", "rk_live_"],
        r"(?:sk|rk)_live_[A-Za-z0-9]{16,}",
    ),
    token_rule("google-api-key", "a Google API key", &["AIza"], r"AIza[A-Za-z0-9_\-]{35}"),
    SecretRule {
        place: StartPlace::BeforeAssignment,
        condition: StartCondition::Anywhere,
        ..token_rule(
            "gcp-service-account",
            "a Google Cloud service-account key",
            &["\"private_key"],
            r#""private_key(?:_id)?"\s*:\s*"(?P<v>-----BEGIN|[0-9a-f]{40}")"#,
        )
    },
    token_rule("anthropic-key", "an Anthropic API key", &["sk-"], r"sk-ant-[A-Za-z0-9_\-]{20,}"),
    token_rule(
        "openai-key",
        "an OpenAI API key",
        &["sk-"],
        r"sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_\-]{20,}|[A-Za-z0-9]{32,})",
    ),
    token_rule("npm-token", "an npm token", &["npm_"], r"npm_[A-Za-z0-9]{36}"),
    token_rule("pypi-token", "a PyPI token", &["pypi-AgE"], r"pypi-AgE[A-Za-z0-9_\-]{40,}"),
    token_rule(
        "huggingface-token",
        "a Hugging Face token",
        &["hf_", "api_org_"],
        r"(?:hf|api_org)_[A-Za-z0-9]{30,}",
    ),
    token_rule(
        "digitalocean-token",
        "a DigitalOcean token",
        &["doo_v1_", "dop_v1_", "dor_v1_"],
        r"do[opr]_v1_[a-f0-9]{64}",
    ),
    token_rule(
        "sendgrid-key",
        "a SendGrid API key",
        &["SG."],
        r"SG\.[A-Za-z0-9_\-]{20,}\.[A-Za-z0-9_\-]{20,}",
    ),
    token_rule(
        "vault-token",
        "a HashiCorp Vault token",
        &["hvs.", "hvb.", "hvr."],
        r"hv[sbr]\.[A-Za-z0-9_\-]{24,}",
    ),
    token_rule(
        "age-key",
        "an age secret key",
        &["AGE-SECRET-KEY-1"],
        r"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
    ),
    token_rule(
        "service-token",
        "an API token",
        &[
            "shpat_",
            "shpss_",
            "shpca_",
            "shppa_",
            "glsa_",
            "dckr_pat_",
            "tskey-",
            "nvapi-",
            "gsk_",
            "r8_",
            "sntrys_",
            "lin_api_",
            "figd_",
            "rubygems_",
            "whsec_",
            "pscale_tkn_",
            "PMAK-",
            "ATATT3x",
            "xkeysib-",
            "ya29.",
            "dapi",
            "sq0csp-",
            "ntn_",
        ],
        r"(?:shp(?:at|ss|ca|pa)_[a-fA-F0-9]{32}|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|dckr_pat_[A-Za-z0-9_\-]{27}|tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{20,}|nvapi-[A-Za-z0-9_\-]{60,}|gsk_[A-Za-z0-9]{48,}|r8_[A-Za-z0-9]{37}\b|sntrys_[A-Za-z0-9=_+/\-]{60,}|lin_api_[A-Za-z0-9]{40}|figd_[A-Za-z0-9_\-]{40}|rubygems_[a-f0-9]{48}|whsec_[A-Za-z0-9+/=]{32,}|pscale_tkn_[A-Za-z0-9_.\-]{32,}|PMAK-[a-f0-9]{24}-[a-f0-9]{34}|ATATT3x[A-Za-z0-9_\-=]{60,}|xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}|ya29\.[A-Za-z0-9_\-]{60,}|dapi[a-f0-9]{32}\b|sq0csp-[A-Za-z0-9_\-]{43}|ntn_[A-Za-z0-9]{43,}\b)",
    ),
    SecretRule {
        accept_in_output: heuristics::accept_web_token,
        ..token_rule(
            "jwt",
            "a JSON Web Token",
            &["eyJ"],
            r"eyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}",
        )
    },
    SecretRule {
        place: StartPlace::Marker,
        condition: StartCondition::Anywhere,
        accept: heuristics::accept_any,
        accept_in_output: heuristics::accept_key_block,
        extend: Some(super::key_block::find_block_end),
        ..token_rule(
            "private-key",
            "a private key",
            &["-----BEGIN ", "PuTTY-User-Key-File-", "b3BlbnNzaC1rZXktdjE"],
            r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d|b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/=]*",
        )
    },
    SecretRule {
        place: StartPlace::BeforeAssignment,
        ..token_rule(
            "azure-key",
            "an Azure storage or service key",
            &["AccountKey", "SharedAccessKey"],
            r"(?i)(?:Account|SharedAccess)Key\s*=\s*(?P<v>[A-Za-z0-9+/]{40,}={0,2})",
        )
    },
    SecretRule {
        starts: &["://"],
        place: StartPlace::UrlScheme,
        condition: StartCondition::AfterScheme,
        pattern: r#"://[^\s:/@"'`]*:(?P<v>[^\s/@"'`]+)@[^\s@]"#,
        accept: heuristics::accept_url_password,
        accept_in_output: heuristics::accept_url_password_in_output,
        ..token_rule("url-password", "a URL with a password (database or other)", &[], "")
    },
    SecretRule {
        starts: &["bearer", "authorization"],
        place: StartPlace::HeaderName,
        pattern: r#"(?i)(?:bearer|authorization["']?\s*[:=]\s*["']?(?:basic|token))\s+(?P<v>[A-Za-z0-9_\-.~+/]{16,}=*)"#,
        accept: heuristics::accept_unquoted,
        accept_in_output: heuristics::accept_header_in_output,
        ..token_rule("authorization-header", "an authorization header", &[], "")
    },
    SecretRule {
        starts: ASSIGNED_NAMES,
        place: StartPlace::BeforeAssignment,
        condition: StartCondition::Anywhere,
        pattern: r#"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_\-]?key|access[_\-]?key|auth[_\-]?key|private[_\-]?key|client[_\-]?key)["'`]?\s*(?:=>|:=|[:=])\s*["'`](?P<v>[^\s"'`]{8,256})["'`]"#,
        accept: heuristics::accept_quoted,
        accept_in_output: heuristics::accept_quoted_in_output,
        is_assignment: true,
        ..token_rule("quoted-password", "a password or key in an assignment", &[], "")
    },
    SecretRule {
        starts: ASSIGNED_NAMES,
        place: StartPlace::BeforeAssignment,
        condition: StartCondition::Anywhere,
        pattern: r#"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_\-]?key|access[_\-]?key|auth[_\-]?key|private[_\-]?key|client[_\-]?key)\s*[:=]\s*(?P<v>[A-Za-z0-9_\-+/=.!@#$%^&*~]{12,256})(?:[\s,;'"`)}\]]|$)"#,
        accept: heuristics::accept_unquoted,
        accept_in_output: heuristics::accept_unquoted_in_output,
        is_assignment: true,
        ..token_rule("bare-password", "a password or key in an assignment", &[], "")
    },
];

/// Returns a rule whose pattern alone identifies the secret.
const fn token_rule(
    id: &'static str,
    description: &'static str,
    starts: &'static [&'static str],
    pattern: &'static str,
) -> SecretRule {
    SecretRule {
        id,
        description,
        starts,
        place: StartPlace::Token,
        condition: StartCondition::WordStart,
        pattern,
        accept: heuristics::accept_any,
        accept_in_output: heuristics::accept_token,
        extend: None,
        is_assignment: false,
    }
}
