//! The table of secret rules. The first match wins, so specific rules come before general ones. Formats follow the
//! documentation of the issuers; every rule needs a case in `tests.rs`.

use super::{SecretRule, heuristics};

/// All rules, in matching order.
pub const RULES: &[SecretRule] = &[
    pattern_rule(
        "aws-access-key",
        "an AWS access key id",
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    ),
    SecretRule {
        id: "aws-secret-key",
        description: "an AWS secret access key",
        pattern: r#"(?i)(?:aws|secret)[_\-. ]?(?:secret)?[_\-. ]?(?:access)?[_\-. ]?key["'`]?\s*(?:=>|[:=])\s*["'`]?(?P<v>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
        accept: heuristics::accept_random_key,
    },
    pattern_rule("github-token", "a GitHub token", r"\bgh[pousr]_[A-Za-z0-9]{36,}"),
    pattern_rule("github-fine-grained-token", "a GitHub token", r"\bgithub_pat_[A-Za-z0-9_]{36,}"),
    pattern_rule(
        "gitlab-token",
        "a GitLab token",
        r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-[A-Za-z0-9_\-]{20,}",
    ),
    pattern_rule("slack-token", "a Slack token", r"\b(?:xox[abceoprs]|xapp)-[A-Za-z0-9\-]{10,}"),
    pattern_rule(
        "slack-webhook",
        "a Slack webhook address",
        r"hooks\.slack\.com/(?:services|workflows)/[A-Z0-9]+/[A-Z0-9]+/[A-Za-z0-9]{16,}",
    ),
    pattern_rule("stripe-key", "a Stripe live key", r"\b(?:sk|rk)_live_[A-Za-z0-9]{16,}"),
    pattern_rule("google-api-key", "a Google API key", r"\bAIza[A-Za-z0-9_\-]{35}"),
    pattern_rule(
        "gcp-service-account",
        "a Google Cloud service-account key",
        r#""private_key"\s*:\s*"-----BEGIN|"private_key_id"\s*:\s*"[0-9a-f]{40}""#,
    ),
    pattern_rule("anthropic-key", "an Anthropic API key", r"\bsk-ant-[A-Za-z0-9_\-]{20,}"),
    pattern_rule(
        "openai-key",
        "an OpenAI API key",
        r"\bsk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_\-]{20,}|[A-Za-z0-9]{32,})",
    ),
    pattern_rule("npm-token", "an npm token", r"\bnpm_[A-Za-z0-9]{36}"),
    pattern_rule("pypi-token", "a PyPI token", r"\bpypi-AgE[A-Za-z0-9_\-]{40,}"),
    pattern_rule("huggingface-token", "a Hugging Face token", r"\b(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    pattern_rule("digitalocean-token", "a DigitalOcean token", r"\bdo[opr]_v1_[a-f0-9]{64}"),
    pattern_rule(
        "sendgrid-key",
        "a SendGrid API key",
        r"\bSG\.[A-Za-z0-9_\-]{20,}\.[A-Za-z0-9_\-]{20,}",
    ),
    pattern_rule("vault-token", "a HashiCorp Vault token", r"\bhv[sbr]\.[A-Za-z0-9_\-]{24,}"),
    pattern_rule("age-key", "an age secret key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    pattern_rule(
        "jwt",
        "a JSON Web Token",
        r"\beyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}",
    ),
    pattern_rule(
        "private-key",
        "a private key",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d",
    ),
    pattern_rule(
        "azure-key",
        "an Azure storage or service key",
        r"(?i)\b(?:Account|SharedAccess)Key\s*=\s*[A-Za-z0-9+/]{40,}={0,2}",
    ),
    SecretRule {
        id: "url-password",
        description: "a URL with a password (database or other)",
        pattern: r#"(?i)\b[a-z][a-z0-9+.\-]*://[^\s:/@"'`]*:(?P<v>[^\s/@"'`]+)@[^\s@]"#,
        accept: heuristics::accept_url_password,
    },
    SecretRule {
        id: "authorization-header",
        description: "an authorization header",
        pattern: r#"(?i)\b(?:bearer|authorization["']?\s*[:=]\s*["']?(?:basic|token))\s+(?P<v>[A-Za-z0-9_\-.~+/]{16,}=*)"#,
        accept: heuristics::accept_unquoted,
    },
    SecretRule {
        id: "quoted-password",
        description: "a password or key in an assignment",
        pattern: r#"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_\-]?key|access[_\-]?key|auth[_\-]?key|private[_\-]?key|client[_\-]?key)["'`]?\s*(?:=>|:=|[:=])\s*["'`](?P<v>[^\s"'`]{8,256})["'`]"#,
        accept: heuristics::accept_quoted,
    },
    SecretRule {
        id: "bare-password",
        description: "a password or key in an assignment",
        pattern: r#"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_\-]?key|access[_\-]?key|auth[_\-]?key|private[_\-]?key|client[_\-]?key)\s*[:=]\s*(?P<v>[A-Za-z0-9_\-+/=.!@#$%^&*~]{12,256})(?:[\s,;'"`)}\]]|$)"#,
        accept: heuristics::accept_unquoted,
    },
];

/// Returns a rule whose pattern alone identifies the secret.
const fn pattern_rule(id: &'static str, what: &'static str, pattern: &'static str) -> SecretRule {
    SecretRule { id, description: what, pattern, accept: heuristics::accept_any }
}
